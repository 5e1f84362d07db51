"""Texts as runs of bytes, for a comparison with others: for Cython only."""
