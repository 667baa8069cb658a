"""Benchmarks in one process, and what all benchmarks share: processes on cores, paired runs, tables."""
