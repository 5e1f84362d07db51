"""Threads of one call that share loops: the C interface."""

from libc.stdint cimport uint64_t

ctypedef void (*Body)(void* context, size_t i) noexcept nogil


cdef struct Team:
    uint64_t ticket         # number of the loop << 32 | the next i to be taken
    uint64_t size           # of the loop
    uint64_t done           # how many of its i are
    uint64_t is_over
    uint64_t n_loops
    uint64_t joined         # how many came to help
    uint64_t left           # and how many of these have gone
    Body body
    void* context
    int status              # of the call, for the one who leads


cdef struct Share:          # of a loop: one i
    Body body
    void* context
    size_t i


cdef bint take_team(int threads) noexcept nogil
cdef void give_team_back() noexcept nogil
cdef void team_pause(size_t* waited) noexcept nogil
cdef void team_init(Team* team) noexcept nogil
cdef void team_begin(Team* team, Body body, void* context, size_t size) noexcept nogil
cdef bint team_take(Team* team, Share* share) noexcept nogil
cdef void team_done(Team* team) noexcept nogil
cdef void team_wait(Team* team) noexcept nogil
cdef void team_cut(Team* team) noexcept nogil
cdef void team_run(Team* team, Body body, void* context, size_t size) noexcept nogil
cdef bint team_help(Team* team, Share* share) noexcept nogil
cdef void team_assist(Team* team) noexcept nogil
cdef void team_join(Team* team) noexcept nogil
cdef void team_leave(Team* team) noexcept nogil
cdef void team_end(Team* team) noexcept nogil
