"""Generated code of `navi.v1`; regenerate with `make protos`."""
