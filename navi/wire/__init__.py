"""Generated messages, and the codecs between them and the vocabulary."""
