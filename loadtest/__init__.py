"""Load generator, benchmarks over the wire, and their reports."""
