"""A small typed client for Navi servers."""
