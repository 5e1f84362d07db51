"""Speed, compared with other tokenizers: ``python -m bench``."""
