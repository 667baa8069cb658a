"""Models without a pipeline: the protocols of KServe v2 (Triton) and TensorFlow Serving."""
