"""Ids as lists of Python integers."""

from libc.stdint cimport uint32_t


cdef Py_ssize_t fill_list(list row, Py_ssize_t at, const uint32_t* values,
                          Py_ssize_t n) except -1
