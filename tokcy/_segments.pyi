"""Typed segments as one text in UTF-8, and its parts."""
