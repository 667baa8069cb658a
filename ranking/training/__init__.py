"""Makes models and bundles out of data."""
