"""Messages and services of TensorFlow Serving, generated from `protos/`."""
