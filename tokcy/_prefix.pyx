# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts that were encoded before, as a tree of their bytes, with the ids up to certain cuts.

A *stream* is a text with all that its ids depend on, as bytes (see _runs). A *cut* is a
place in a stream behind which the rest is encoded as if nothing stood before: the end of an added
token that is found in the raw text, or of a segment. The tree has the cuts of each stream with the
number of ids before them, and these ids (see _nodes).

**Which cuts hold for another stream.** The search for added tokens decides what it finds at a place
by the bytes from there on: a longer token may begin there, whitespace may follow an rstrip token,
a letter a token that is to be a single word. It looks no further than the longest token and one
character. So a cut holds if the two streams agree up to `reach` bytes behind it. For the cuts
behind that one the engine searches the new text again, from the last cut that holds, and takes the
last that it finds again with the same state of the search. (Behind an rstrip token that state is
two places: the end of the whitespace, and the end of the token, where the search goes on.)

**The tree** is a radix tree (PATRICIA): no two children of a node begin with the same byte. So the
next node is found by one byte, and then compared with the stream. There are no hashes of text, so
none that could collide or be flooded, and a look-up is one pass over the bytes that are shared. A
new stream adds what it does not share: memory is linear in what is stored, however many cuts there
are.

**Threads.** Nodes do not change but for their place in the tree, and whoever reads one holds a
reference. The lock is held to find a child and to add a node, but not for the comparison, unless
one of the nodes has gone from the tree by the time that another is to be added. Who waits for it
must not have the GIL: a fork holds all locks while it runs Python code. What is used least recently
goes first, and leaves before what they hang on.
"""

import os
import threading
import weakref

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free, realloc

from tokcy._idbuffer cimport IdBuffer
from tokcy._nodes cimport (
    Cut,
    Found,
    Growth,
    Node,
    Step,
    child_of,
    fill_node,
    free_node,
    has_cut,
    is_behind,
    leave_out,
    new_node,
    plan_growth,
    release_node,
    rest_of,
    split_node,
    stored_end,
)
from tokcy._runs cimport Run, Stream, copy_stream, first_difference, rewind
from tokcy._source cimport wide_byte, wide_shared
from tokcy._status cimport OUT_OF_MEMORY

cdef extern from "Python.h":
    void* PyThread_allocate_lock()
    int PyThread_acquire_lock(void* lock, int wait) nogil
    void PyThread_release_lock(void* lock) nogil
    void PyThread_free_lock(void* lock)

cdef enum:
    TRIES = 1000        # before a lock is left to others; mostly it is held to look for a child

_stores = weakref.WeakSet()
_held = {}                      # by thread: stores whose lock it holds for a fork


@cython.final
cdef class PrefixStore:
    """The tree; shared by threads.

    Args:
        max_bytes: of all its nodes together.
        apart: bytes from a cut to the next; those at the end of a text are nearer together.
        views: ids are given as read-only views, where all of a text are together.
        wide_from: characters of a string that is converted while it is compared.
    """

    def __cinit__(self, size_t max_bytes, size_t apart=4096, bint views=False,
                  size_t wide_from=4096):
        self.max_bytes = max_bytes
        self.apart = apart
        self.views = views
        self.wide_from = wide_from
        self.lock = PyThread_allocate_lock()
        self.root = <Node*>calloc(1, sizeof(Node))
        if self.lock == NULL or self.root == NULL:
            raise MemoryError
        self.root.linked = True
        self.root.refs = 1
        self.root.newer = self.root.older = self.root      # a ring
        _stores.add(self)

    def __dealloc__(self):
        if self.root != NULL:
            self.drop_all()
            free(self.root)
        if self.lock != NULL:
            PyThread_free_lock(self.lock)

    cdef void drop_all(self) noexcept nogil:
        while self.root.newer != self.root:
            self.detach(self.root.newer)        # the one used least recently: a leaf

    def clear(self):
        """Forget all streams; calls that read some now go on with them."""
        with nogil:
            PyThread_acquire_lock(self.lock, 1)
            self.drop_all()
            PyThread_release_lock(self.lock)

    @property
    def bytes(self):
        """Memory of the nodes."""
        return self.n_bytes

    @property
    def entries(self):
        """Nodes in the tree."""
        return self.n_nodes

    @property
    def evictions(self):
        """Nodes that had to go for others."""
        return self.n_evicted

    # ---------------------------------------------------------------- looking up

    cdef void begin(self, Found* found) noexcept nogil:
        """Start at the root; `found` holds zeros, and is to be given to `finish` in any case."""
        PyThread_acquire_lock(self.lock, 1)
        found.version = self.version
        PyThread_release_lock(self.lock)

    cdef void follow_stream(self, const Stream* stream, Found* found, bint locked) noexcept nogil:
        """Go on down while the bytes are those of the stream, and hold the nodes."""
        cdef size_t i = 0
        while i < stream.n_runs and self.follow_run(stream.runs + i, found, locked):
            i += 1

    cdef bint follow_run(self, const Run* run, Found* found, bint locked) noexcept nogil:
        """Go on down with a run that begins at, or has, the place that is reached; whether it ends.

        Args:
            locked: whether the lock is held; else it is taken to find a child.
        """
        cdef size_t left
        if found.common < run.begin and self.follow(&run.mark, 1, found, locked) == 0:
            return False
        if run.wide != NULL:
            return self.follow_wide(run, found, locked)
        if found.common >= run.begin + run.size:
            return True
        left = run.begin + run.size - found.common
        return self.follow(run.bytes + (run.size - left), left, found, locked) == left

    cdef size_t follow(self, const uint8_t* bytes, size_t size, Found* found,
                       bint locked) noexcept nogil:
        """Go on down with some bytes while they are those of the tree; how many are."""
        cdef const uint8_t* stored
        cdef size_t done = 0, n = 0, same
        while done < size:
            stored = rest_of(found, &n)
            if n == 0:
                if not self.step_down(bytes[done], found, locked):
                    break
                continue
            n = min(n, size - done)
            same = first_difference(stored, bytes + done, n)
            found.common += same
            done += same
            if same < n:
                break
        return done

    cdef bint follow_wide(self, const Run* run, Found* found, bint locked) noexcept nogil:
        """Go on down with a string that is compared in place; whether all of it is there."""
        cdef const uint8_t* stored
        cdef size_t n = 0, same
        cdef int byte = wide_byte(run.wide, found.common - run.begin)
        while byte >= 0:
            stored = rest_of(found, &n)
            if n == 0:
                if not self.step_down(<uint8_t>byte, found, locked):
                    return False
                continue
            same = wide_shared(run.wide, found.common - run.begin, stored, n)
            found.common += same
            byte = wide_byte(run.wide, found.common - run.begin)
            if same < n and byte >= 0:
                return False
        return run.wide.n == run.wide.length

    cdef bint step_down(self, uint8_t byte, Found* found, bint locked) noexcept nogil:
        """Go to the child that begins with a byte, and hold it; whether there is one."""
        cdef Node* child
        cdef Step* step
        if found.n_steps == found.capacity:
            step = <Step*>realloc(found.steps, (2 * found.capacity + 16) * sizeof(Step))
            if step == NULL:
                found.status = OUT_OF_MEMORY
                return False
            found.steps = step
            found.capacity = 2 * found.capacity + 16
        step = found.steps + found.n_steps
        if not locked:
            PyThread_acquire_lock(self.lock, 1)
        child = child_of((step - 1).node if found.n_steps else self.root, byte)
        if child != NULL:
            child.refs += 1
            step.leaf = child.child == NULL
        if not locked:
            PyThread_release_lock(self.lock)
        if child == NULL:
            return False
        step.node = child
        step.begin = found.common
        step.n_cuts = child.n_cuts
        leave_out(found, found.n_steps, child.base.at)
        found.n_steps += 1
        return True

    cdef bint try_lock(self) noexcept nogil:
        """Whether the lock is held from now on; for who has the GIL, and so must not wait."""
        cdef int _tries
        for _tries in range(TRIES):
            if PyThread_acquire_lock(self.lock, 0):
                return True
        return False

    cdef void unlock(self) noexcept nogil:
        PyThread_release_lock(self.lock)

    cdef void find_again(self, const Stream* stream, Found* found) noexcept nogil:
        """Find a stream where the tree has changed, but for the nodes that are in it still.

        Where what went is before all that is there of the stream, it is found up to that.
        """
        cdef size_t n_kept = 0, i
        cdef Step* step
        while n_kept < found.n_steps and found.steps[n_kept].node.linked:
            n_kept += 1
        if n_kept < found.n_steps and rewind(stream):
            n_kept = 0
        for i in range(n_kept, found.n_steps):
            release_node(found.steps[i].node)
        if n_kept < found.n_steps:
            found.common = found.steps[n_kept].begin
        found.n_steps = n_kept
        for i in range(n_kept):
            step = found.steps + i
            step.n_cuts = step.node.n_cuts
            leave_out(found, i, step.node.base.at)
        if found.common >= stream.first:
            self.follow_stream(stream, found, True)

    cdef void give_back(self, Found* found) noexcept nogil:
        cdef size_t i
        for i in range(found.n_steps):
            release_node(found.steps[i].node)
        found.n_steps = 0

    # -------------------------------------------------------------------- adding

    cdef int finish(self, const Stream* stream, Found* found, const Cut* base, const Cut* cuts,
                    size_t n_cuts, IdBuffer* buffer, size_t reach) noexcept nogil:
        """Store what is new of a stream, and free what `find` gave; a status.

        Args:
            base: the cut of those found that the text was encoded from; all zeros for none.
            cuts, n_cuts: those behind it, in order; with none nothing is stored.
            buffer: that has the ids from `base` to the last of `cuts`; NULL if there are none.
            reach: bytes behind a cut that decide whether it holds.
        """
        cdef int status
        cdef size_t end
        end = stored_end(stream, cuts, n_cuts, reach)
        PyThread_acquire_lock(self.lock, 1)
        if found.common < end and found.version != self.version:
            self.find_again(stream, found)
        status = found.status
        if found.n_steps:
            self.touch(found.steps[found.n_steps - 1].node)
        if status == 0 and self.gains(found, base, n_cuts, end) and has_cut(found, base):
            status = self.add(stream, found, base, cuts, n_cuts, buffer, end)
        self.give_back(found)
        PyThread_release_lock(self.lock)
        free(found.steps)
        found.steps = NULL
        return status

    cdef bint gains(self, const Found* found, const Cut* base, size_t n_cuts,
                    size_t end) noexcept nogil:
        """Whether a stream is to be stored up to `end`.

        One that grows and never has a cut would be stored anew each time: ids for all of it.
        """
        return found.common < end and (
            n_cuts > 1 or found.common <= base.at + max(self.apart, end - found.common))

    cdef int add(self, const Stream* stream, const Found* found, const Cut* base,
                 const Cut* cuts, size_t n_cuts, IdBuffer* buffer, size_t end) noexcept nogil:
        """Put the bytes of a stream from found.common to `end` into the tree."""
        cdef Found way = found[0]
        cdef Growth growth
        cdef size_t n_kept, i
        cdef Step* last = NULL
        cdef Node* node
        cdef Node* parent = self.root
        if not self.make_room(&way, base, end, n_cuts, buffer, &growth):
            return 0
        n_kept = way.n_steps - growth.n_joined
        if n_kept:
            last = way.steps + n_kept - 1
            parent = last.node
        node = new_node(end - growth.begin, growth.n_cuts + n_cuts, buffer, &growth.base)
        if node == NULL:
            return OUT_OF_MEMORY
        fill_node(node, &way, n_kept, base, cuts, n_cuts)
        copy_stream(stream, way.common, end, node.bytes + (way.common - growth.begin))
        if last != NULL and growth.begin < last.begin + parent.size:
            parent = self.split(parent, last.begin, growth.begin - last.begin)
            if parent == NULL:
                free_node(node)
                return OUT_OF_MEMORY
        for i in range(way.n_steps, n_kept, -1):
            self.detach(way.steps[i - 1].node)
        self.attach(node, parent)
        self.touch(node)
        self.version += 1
        return 0

    cdef Node* split(self, Node* node, size_t begin, size_t size) noexcept nogil:
        """Put two nodes in place of one; the first has `size` of its bytes, and is returned."""
        cdef Node* upper = NULL
        cdef Node* lower = NULL
        cdef Node* child
        if not split_node(node, begin, size, &upper, &lower):
            return NULL
        lower.child = node.child
        node.child = NULL
        child = lower.child
        while child != NULL:
            child.parent = lower
            child = child.sibling
        self.attach(upper, node.parent)
        self.attach(lower, upper)
        # In the order of use the new ones take the place of the old, the upper one before.
        move_behind(lower, node)
        move_behind(upper, node)
        self.detach(node)
        return upper

    cdef bint make_room(self, Found* way, const Cut* base, size_t end, size_t n_cuts,
                        const IdBuffer* buffer, Growth* growth) noexcept nogil:
        """Plan the growth, and let go what was not used for longest until there is room for it.

        False where it could not even be beside the nodes of the way. Of these the last go, too, if
        the stream has no ids of them. Else a long text would keep all others out for ever: they
        begin alike, as they have a key in common.
        """
        cdef size_t n_steps = way.n_steps
        plan_growth(way, base, end, n_cuts, buffer, growth)
        while growth.kept + growth.memory > self.max_bytes:
            if way.n_steps == 0 or is_behind(base, way.steps + (way.n_steps - 1)):
                return False
            way.n_steps -= 1
            way.common = way.steps[way.n_steps].begin
            plan_growth(way, base, end, n_cuts, buffer, growth)
        if way.n_steps < n_steps:
            self.let_go(way.steps[way.n_steps].node)
        while self.n_bytes - growth.joined + growth.memory > self.max_bytes:
            self.detach(self.root.newer)        # at the other end of the ring: a leaf
            self.n_evicted += 1
        return True

    cdef void let_go(self, Node* node) noexcept nogil:
        """Take a node out of the tree with all below it."""
        cdef Node* leaf = NULL
        while leaf != node:
            leaf = node
            while leaf.child != NULL:
                leaf = leaf.child
            self.detach(leaf)
            self.n_evicted += 1

    cdef void attach(self, Node* node, Node* parent) noexcept nogil:
        node.parent = parent
        node.sibling = parent.child
        parent.child = node
        node.linked = True
        node.refs += 1
        node.newer = node.older = node
        move_behind(node, self.root)
        self.n_bytes += node.memory
        self.n_nodes += 1
        if node.buffer != NULL:
            if node.buffer.n_nodes == 0:
                self.n_bytes += node.buffer.memory
            node.buffer.n_nodes += 1

    cdef void detach(self, Node* node) noexcept nogil:
        """Take a node without children out of the tree."""
        cdef Node** link = &node.parent.child
        while link[0] != node:
            link = &link[0].sibling
        link[0] = node.sibling
        node.newer.older = node.older
        node.older.newer = node.newer
        node.linked = False
        self.n_bytes -= node.memory
        self.n_nodes -= 1
        if node.buffer != NULL:
            node.buffer.n_nodes -= 1
            if node.buffer.n_nodes == 0:
                self.n_bytes -= node.buffer.memory
        self.version += 1
        release_node(node)

    cdef void touch(self, Node* node) noexcept nogil:
        """Note that a node is used, and that those above it are so still later."""
        if not node.linked:
            return
        while node != self.root:
            move_behind(node, self.root)
            node = node.parent


cdef inline void move_behind(Node* node, Node* newer) noexcept nogil:
    """Put a node next to a newer one in the order of use; the root is newer than all."""
    node.newer.older = node.older
    node.older.newer = node.newer
    node.newer = newer
    node.older = newer.older
    newer.older.newer = node
    newer.older = node


@cython.final
cdef class PrefixView:
    """A store for the streams of one key, with its own counts.

    Args:
        store: that may be shared by many.
        key: 16 bytes: of the tokenizer, and of what else the ids depend on beside the text.
    """

    def __cinit__(self, PrefixStore store, bytes key):
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self.store = store
        self.key = key

    def count(self, size_t cached, size_t uncached):
        """Count one text by its ids that were there and those that were not."""
        if cached:
            self.hits += 1
        else:
            self.misses += 1
        self.cached_tokens += cached
        self.uncached_tokens += uncached


# ------------------------------------------------------------------------- forks

def _before_fork():
    """Hold all locks, so that the child gets trees that nobody is about to change."""
    cdef PrefixStore store
    held = _held.setdefault(threading.get_ident(), [])
    for store in list(_stores):
        with nogil:
            PyThread_acquire_lock(store.lock, 1)
        held.append(store)


def _after_fork():
    cdef PrefixStore store
    for store in _held.pop(threading.get_ident(), ()):
        PyThread_release_lock(store.lock)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
