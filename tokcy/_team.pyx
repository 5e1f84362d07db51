# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Threads of one call that share loops, one loop after the other.

A text passes several loops, with a few microseconds between them that only one thread has work for.
A parallel region of OpenMP for each would put the others to sleep and wake them again: some 50 µs
each time, and 1 MB of English that is known takes 700. So there is one region. In it one thread
leads: it begins a loop, takes part in it, waits until all of it is done, and goes on. The others
help: they take what there is to take, and wait.

What is taken is a *share*, one i of a loop. A ticket tells which loop it is and which i is next, so
who was late cannot take a share of the next loop for one of the last.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from tokcy._platform cimport (
    tk_add_release64,
    tk_cas64,
    tk_load_acquire64,
    tk_store_release64,
)

cdef extern from "_team.h" nogil:
    void tk_pause()
    void tk_yield()
    void tk_rest()

cdef enum:
    PAUSES = 1000           # some 50 µs, before a thread that waits lets others have its core
    YIELDS = 1000           # half a millisecond or more, before it leaves it idle
    GOING_PAUSES = 20       # from `team_leave` to the end of the parallel region

cdef uint64_t NEXT = 0xFFFFFFFF                 # of a ticket: the next i
cdef uint64_t CLOSED = 0xFFFFFFFFFFFFFFFF       # no loop has so many i

# One call at a time uses several threads; calls from other Python threads meanwhile run on their
# own thread alone, as a team for each would oversubscribe the cores.
cdef uint64_t parallel_calls = 0


cdef bint take_team(int threads) noexcept nogil:
    """Whether a call may use several threads, until `give_team_back`."""
    return threads > 1 and tk_cas64(&parallel_calls, 0, 1)


cdef void give_team_back() noexcept nogil:
    tk_store_release64(&parallel_calls, 0)


cdef void team_init(Team* team) noexcept nogil:
    memset(team, 0, sizeof(Team))
    team.ticket = CLOSED


cdef void team_begin(Team* team, Body body, void* context, size_t size) noexcept nogil:
    """Begin a loop over i < size, fewer than 2**32 - 1; the last one must be done.

    Args:
        body: what to do for each i; NULL: its shares are only taken by who knows what to do.
        context: of the body.
    """
    # The ticket is closed, so nobody takes anything by half of this.
    team.body = body
    team.context = context
    tk_store_release64(&team.done, 0)
    tk_store_release64(&team.size, size)
    team.n_loops += 1
    tk_store_release64(&team.ticket, (team.n_loops & 0x7FFFFFFF) << 32)


cdef bint team_take(Team* team, Share* share) noexcept nogil:
    """Take a share, if there is one; `team_done` says that it is done."""
    cdef uint64_t ticket = tk_load_acquire64(&team.ticket)
    while ticket & NEXT < tk_load_acquire64(&team.size):
        share.body = team.body
        share.context = team.context
        share.i = ticket & NEXT
        if tk_cas64(&team.ticket, ticket, ticket + 1):
            return True
        ticket = tk_load_acquire64(&team.ticket)
    return False


cdef void team_done(Team* team) noexcept nogil:
    tk_add_release64(&team.done, 1)


cdef void team_pause(size_t* waited) noexcept nogil:
    """Wait a moment; `waited` counts the moments, 0 at first."""
    waited[0] += 1
    if waited[0] < PAUSES:
        tk_pause()
    elif waited[0] < PAUSES + YIELDS:
        tk_yield()
    else:
        tk_rest()


cdef void team_wait(Team* team) noexcept nogil:
    """Wait until all shares of the loop are done, and close it."""
    cdef size_t waited = 0
    while tk_load_acquire64(&team.done) < team.size:
        team_pause(&waited)
    tk_store_release64(&team.ticket, CLOSED)


cdef void team_cut(Team* team) noexcept nogil:
    """Close a loop of which the shares that nobody has taken are not needed."""
    cdef uint64_t ticket = tk_load_acquire64(&team.ticket)
    cdef size_t waited = 0
    while not tk_cas64(&team.ticket, ticket, CLOSED):
        ticket = tk_load_acquire64(&team.ticket)
    while tk_load_acquire64(&team.done) < ticket & NEXT:
        team_pause(&waited)


cdef void team_run(Team* team, Body body, void* context, size_t size) noexcept nogil:
    """Do all of a loop, with who helps; alone where the team is NULL."""
    cdef Share share
    cdef size_t i
    if team == NULL:
        for i in range(size):
            body(context, i)
        return
    team_begin(team, body, context, size)
    while team_take(team, &share):
        body(context, share.i)
        team_done(team)
    team_wait(team)


cdef bint team_help(Team* team, Share* share) noexcept nogil:
    """Wait for a share and take it; False when there will be no more."""
    cdef size_t waited = 0
    while not tk_load_acquire64(&team.is_over):
        if team_take(team, share):
            return True
        team_pause(&waited)
    return False


cdef void team_assist(Team* team) noexcept nogil:
    """Help until the end, where each loop has a body."""
    cdef Share share
    team_join(team)
    while team_help(team, &share):
        share.body(share.context, share.i)
        team_done(team)
    team_leave(team)


cdef void team_join(Team* team) noexcept nogil:
    """Become one who helps."""
    tk_add_release64(&team.joined, 1)


cdef void team_leave(Team* team) noexcept nogil:
    """Help no more; what follows is to be the end of the parallel region."""
    tk_add_release64(&team.left, 1)


cdef void team_end(Team* team) noexcept nogil:
    """Let those who help go, and then have them be first at the end of the parallel region.

    OpenMP puts who comes there early to sleep: 100 µs until that thread goes on, on a machine
    whose cores are somebody else's threads.
    """
    cdef size_t waited = 0
    cdef int _going
    tk_store_release64(&team.is_over, 1)
    while tk_load_acquire64(&team.left) < tk_load_acquire64(&team.joined) and waited < PAUSES:
        waited += 1
        tk_pause()
    for _going in range(GOING_PAUSES):
        tk_pause()
