"""The status page: what a person sees of a running server."""
