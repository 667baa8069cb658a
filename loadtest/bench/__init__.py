"""Benchmarks over the wire."""
