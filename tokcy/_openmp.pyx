# cython: language_level=3
"""The compiled half of `tokcy.threads`: what only the OpenMP runtime knows."""

cdef extern from "_openmp.h":
    int tk_omp_threads()
    int tk_omp_pause()


def enabled():
    """Whether this package was built with OpenMP."""
    return tk_omp_threads() > 0


def pause():
    """Free the calling thread's pool of OpenMP threads, so that it may fork.

    Returns:
        0 on success; another number where the runtime cannot do it.
    """
    return tk_omp_pause()
