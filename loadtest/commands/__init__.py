"""Commands of the load generator."""
