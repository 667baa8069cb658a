"""The `navi` command."""
