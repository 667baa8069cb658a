"""Models in memory, and the backends that run them."""
