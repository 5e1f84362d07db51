"""Piece boundaries by the DFA of a split pattern."""

from tokcy._pretok cimport Scan

cdef int scan_by_dfa(const Scan* scan) noexcept nogil
