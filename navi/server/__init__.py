"""The RPC front and its services."""
