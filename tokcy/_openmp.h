/* The part of OpenMP that its compilers spell differently, or lack.
 *
 * GNU OpenMP hangs in a child that was forked after a parallel region of the forking thread:
 * the child inherits a pool whose threads do not exist. Pausing the runtime before the fork
 * frees the pool, and both sides keep parallelism. "Soft" only: a hard pause fails an assertion
 * of LLVM's runtime in the child. */
#ifndef TOKCY_OPENMP_H
#define TOKCY_OPENMP_H

#ifdef _OPENMP
#include <omp.h>
/* Without a call that must be resolved, linkers leave the runtime out of this module. */
static int tk_omp_threads(void) { return omp_get_max_threads(); }
#else
static int tk_omp_threads(void) { return 0; }
#endif

#if defined(_OPENMP) && !defined(_MSC_VER) && \
    (_OPENMP >= 201811 || (defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9))
#pragma weak omp_pause_resource_all /* an older runtime may be loaded */
static int tk_omp_pause(void) {
    return omp_pause_resource_all ? omp_pause_resource_all(omp_pause_soft) : -1;
}
#else
static int tk_omp_pause(void) { return -1; }
#endif

#endif /* TOKCY_OPENMP_H */
