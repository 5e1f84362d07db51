# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How code without the GIL says that it cannot go on, and looks whether it should.

Only the main thread looks for signals, as it alone runs Python's handlers. Another thread must not
even try: to take the GIL anew in a daemon thread while the interpreter shuts down is a crash.
"""

import os
import threading

from tokcy.errors import TokcyError

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept
    unsigned long PyThread_get_thread_ident() nogil

cdef unsigned long main_thread = 0


def _note_main_thread():
    global main_thread
    main_thread = threading.main_thread().ident


_note_main_thread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_main_thread)


cdef int check_signals() noexcept nogil:
    """0; INTERRUPTED, with the exception set, where a signal handler has raised one."""
    if PyThread_get_thread_ident() != main_thread:
        return 0
    with gil:
        return INTERRUPTED if PyErr_CheckSignals() else 0


cdef int raise_status(int status) except -1:
    """Turn a status into the exception that it means; 0 if it means none."""
    if status == OUT_OF_MEMORY:
        raise MemoryError
    if status == UNDECIDED:
        raise TokcyError(
            "whether an added token comes from trusted text alone cannot be told, as the "
            "normalizer changes a stretch of text with that token of which only some is trusted"
        )
    return -1 if status == INTERRUPTED else 0
