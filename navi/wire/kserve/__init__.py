"""Messages and service of the KServe v2 inference protocol, generated from `protos/`."""
