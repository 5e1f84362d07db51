"""What makes `tokenizers` and `transformers` encode through tokcy."""
