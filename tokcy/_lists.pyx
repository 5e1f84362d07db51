# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids as lists of Python integers.

To make an integer takes several times as long as to find one that was made before, and longer than
to encode its token. So each id below MOST_PREPARED is made once per process, when it is first
wanted, and kept: 32 bytes for each that ever was in a list.
"""

cimport numpy as cnp
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()
    bint PyLong_CheckExact(object)
    long long PyLong_AsLongLongAndOverflow(object, int* overflow) except? -1

cnp.import_array()

cdef enum:
    MOST_PREPARED = 1 << 20         # more than any vocabulary has

# Of these 8 MB only pages that are written to take memory.
cdef PyObject** prepared = <PyObject**>calloc(MOST_PREPARED, sizeof(PyObject*))
cdef size_t n_prepared = MOST_PREPARED if prepared != NULL else 0


def as_lists(const uint32_t[::1] values, const int64_t[::1] offsets) -> list[list[int]]:
    """values[offsets[i]:offsets[i + 1]] for each i.

    Raises:
        ValueError: the offsets fall or reach beyond the values.
    """
    cdef Py_ssize_t i, n_rows = offsets.shape[0] - 1
    cdef const uint32_t* data = &values[0] if values.shape[0] else NULL
    cdef list rows = PyList_New(n_rows), row
    # The garbage collector would look at lists and integers again and again while more lists come:
    # 10 ns an id in place of 4 where texts are short.
    cdef bint collects = PyGC_Disable()
    try:
        for i in range(n_rows):
            if not 0 <= offsets[i] <= offsets[i + 1] <= values.shape[0]:
                raise ValueError(f"offsets {offsets[i]} and {offsets[i + 1]} are none of a batch")
            row = PyList_New(offsets[i + 1] - offsets[i])
            fill_list(row, 0, data + offsets[i], len(row))
            Py_INCREF(row)
            PyList_SET_ITEM(rows, i, row)
    finally:
        if collects:
            PyGC_Enable()
    return rows


def ids_of(list numbers not None):
    """The uint32 array of a list of nothing but ints from 0 to 2**32 - 1; None for another list."""
    cdef Py_ssize_t i, n = len(numbers)
    cdef cnp.npy_intp shape = n
    cdef cnp.ndarray ids = cnp.PyArray_EMPTY(1, &shape, cnp.NPY_UINT32, 0)
    cdef uint32_t* data = <uint32_t*>cnp.PyArray_DATA(ids)
    cdef object number
    cdef int64_t value
    cdef int overflow = 0
    for i in range(n):
        number = numbers[i]
        if not PyLong_CheckExact(number):
            return None
        value = PyLong_AsLongLongAndOverflow(number, &overflow)
        if overflow or not 0 <= value < <int64_t>1 << 32:
            return None
        data[i] = <uint32_t>value
    return ids


cdef Py_ssize_t fill_list(list row, Py_ssize_t at, const uint32_t* values,
                          Py_ssize_t n) except -1:
    """Set the n items of a new list that begin with item `at`; n."""
    cdef PyObject* known
    cdef object number
    cdef Py_ssize_t i
    for i in range(n):
        known = prepared[values[i]] if values[i] < n_prepared else NULL
        if known != NULL:
            Py_INCREF(<object>known)
            PyList_SET_ITEM(row, at + i, <object>known)
        else:
            number = prepare(values[i])
            Py_INCREF(number)
            PyList_SET_ITEM(row, at + i, number)
    return n


cdef object prepare(uint32_t value):
    cdef object number = value
    if value < n_prepared:
        Py_INCREF(number)
        prepared[value] = <PyObject*>number
    return number
