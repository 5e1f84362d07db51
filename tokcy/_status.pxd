"""How code without the GIL says that it cannot go on, and looks whether it should."""

cdef enum:
    OUT_OF_MEMORY = -1
    INTERRUPTED = -2        # a signal handler has raised; the exception is set
    UNDECIDED = -4          # -3 stands for an exception where a status is returned
    NOT_UTF8 = -5           # a string that UTF-8 cannot express


cdef int check_signals() noexcept nogil
cdef int raise_status(int status) except -1
