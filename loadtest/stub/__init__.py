"""Servers that answer after a known time, to measure the harness by."""
