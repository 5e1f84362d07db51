"""Nodes of the tree of texts: for Cython only."""
