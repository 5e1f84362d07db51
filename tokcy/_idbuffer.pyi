"""Buffers of ids that texts share: for Cython only."""
