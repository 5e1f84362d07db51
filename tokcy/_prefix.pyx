# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts that were encoded before, as a tree of their bytes, with the ids up to certain cuts.

A *stream* is what a text and all that its ids depend on come to as bytes: the key of a tokenizer
and how it is to be read, then the segments of the text. Before each stands a mark, a byte that
UTF-8 does not have, which tells whether the segment is trusted. So plain text, another split into
segments and another trust are different streams.

A *cut* is a place in a stream behind which the rest is encoded as if nothing stood before: the end
of an added token that is found in the raw text, or of a segment. The tree has the cuts of each
stream with the number of ids before them, and these ids.

**Which cuts hold for another stream.** The search for added tokens decides what it finds at a place
by the bytes from there on: a longer token may begin there, whitespace may follow an rstrip token,
a letter a token that is to be a single word. It looks no further than the longest token and one
character. So a cut holds if the two streams agree up to `reach` bytes behind it. For the cuts
behind that one the engine searches the new text again, from the last cut that holds, and takes the
last that it finds again with the same state of the search. (Behind an rstrip token that state is
two places: the end of the whitespace, and the end of the token, where the search goes on.)

**The tree** is a radix tree (PATRICIA): no two children of a node begin with the same byte. So the
way down is found by one byte for each node, without a comparison; then the stream is compared with
the nodes on the way, byte by byte. There are no hashes of text, so none that could collide or be
flooded, and a look-up is one pass over the bytes that are shared. A new stream adds what it does
not share: memory is linear in what is stored, however many cuts there are. A node whose stream goes
on becomes one with what is added, if it is no longer than that; so a conversation of n turns is
some log n nodes.

The cuts of a node and of those above it hold for the stream that brought it. As a stream may share
bytes with another beyond the last cut that it shares, a node names the cut that its ids go on from
(`base`), and on the way down cuts beyond that are left out.

**Threads.** Nodes do not change but for their place in the tree, and whoever reads one holds a
reference. The lock is held to find the way and to add a node, but not for the comparison, unless
the tree has changed by the time that a node is to be added. Who waits for it must not have the GIL:
a fork holds all locks while it runs Python code. What is used least recently goes first, and leaves
before what they hang on.
"""

import os
import threading
import weakref

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from tokcy._status cimport OUT_OF_MEMORY

cdef extern from "Python.h":
    void* PyThread_allocate_lock()
    int PyThread_acquire_lock(void* lock, int wait) nogil
    void PyThread_release_lock(void* lock) nogil
    void PyThread_free_lock(void* lock)

cdef enum:
    COMPARED_AT_ONCE = 4096     # bytes; where they differ they are looked at again
    HEAP_BYTES = 16             # that an allocation takes beside its own

_stores = weakref.WeakSet()
_held = {}                      # by thread: stores whose lock it holds for a fork


@cython.final
cdef class PrefixStore:
    """The tree; shared by threads.

    Args:
        max_bytes: of all its nodes together.
        apart: bytes from a cut to the next; those at the end of a text are nearer together.
    """

    def __cinit__(self, size_t max_bytes, size_t apart=4096):
        self.max_bytes = max_bytes
        self.apart = apart
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

    cdef int find(self, const Stream* stream, Found* found) noexcept nogil:
        """Fill `found`, which holds zeros, and is to be given to `finish` in any case; a status."""
        cdef int status
        PyThread_acquire_lock(self.lock, 1)
        status = self.walk(stream, found)
        PyThread_release_lock(self.lock)
        compare(stream, found)
        return status

    cdef int walk(self, const Stream* stream, Found* found) noexcept nogil:
        """Hold the nodes that lie on the way of the stream, if its bytes are theirs."""
        cdef Node* node = self.root
        cdef size_t at = 0, part = 0
        cdef Step* moved
        found.version = self.version
        while at < stream.size:
            node = child_of(node, byte_at(stream, at, &part))
            if node == NULL:
                break
            if found.n_held == found.capacity:
                moved = <Step*>realloc(found.steps, (2 * found.capacity + 16) * sizeof(Step))
                if moved == NULL:
                    return OUT_OF_MEMORY
                found.steps = moved
                found.capacity = 2 * found.capacity + 16
            found.steps[found.n_held].node = node
            found.steps[found.n_held].begin = at
            found.n_held += 1
            node.refs += 1
            at += node.size
        return 0

    cdef void give_back(self, Found* found) noexcept nogil:
        cdef size_t i
        for i in range(found.n_held):
            release_node(found.steps[i].node)
        found.n_held = found.n_steps = 0

    # -------------------------------------------------------------------- adding

    cdef int finish(self, const Stream* stream, Found* found, const Cut* base, const Cut* cuts,
                    size_t n_cuts, const uint32_t* ids, size_t reach) noexcept nogil:
        """Store what is new of a stream, and free what `find` gave; a status.

        Args:
            base: the cut of those found that the text was encoded from; all zeros for none.
            cuts, n_cuts: those behind it, in order; with none nothing is stored.
            ids: those from `base` to the last of `cuts`.
            reach: bytes behind a cut that decide whether it holds.
        """
        cdef int status = 0
        cdef size_t end = min(stream.size, cuts[n_cuts - 1].at + reach) if n_cuts else 0
        PyThread_acquire_lock(self.lock, 1)
        if found.common < end and found.version != self.version:
            self.give_back(found)
            status = self.walk(stream, found)
            compare(stream, found)
        if found.n_steps:
            self.touch(found.steps[found.n_steps - 1].node)
        # A text that grows and never has a cut would be stored anew each time: ids for all of it.
        if n_cuts == 1 and found.common > base.at + max(self.apart, end - found.common):
            end = 0
        if status == 0 and found.common < end and has_cut(found, base):
            status = self.add(stream, found, base, cuts, n_cuts, ids, end)
        self.give_back(found)
        PyThread_release_lock(self.lock)
        free(found.steps)
        found.steps = NULL
        return status

    cdef int add(self, const Stream* stream, const Found* found, const Cut* base,
                 const Cut* cuts, size_t n_cuts, const uint32_t* ids, size_t end) noexcept nogil:
        """Put the bytes of a stream from found.common to `end` into the tree."""
        cdef Growth growth
        cdef size_t n_kept, i
        cdef Step* last
        cdef Node* node
        cdef Node* parent = self.root
        plan_growth(found, base, end, &growth)
        n_kept = found.n_steps - growth.n_joined
        if not self.make_room(found, n_kept, node_memory(
                end - growth.begin, growth.n_cuts + n_cuts,
                cuts[n_cuts - 1].n_ids - growth.base.n_ids)):
            return 0
        node = new_node(end - growth.begin, growth.n_cuts + n_cuts,
                        cuts[n_cuts - 1].n_ids - growth.base.n_ids, &growth.base)
        if node == NULL:
            return OUT_OF_MEMORY
        copy_stream(stream, growth.begin, end, node.bytes)
        fill_node(node, found, n_kept, base, cuts, n_cuts, ids)
        if n_kept:
            last = found.steps + n_kept - 1
            parent = last.node
            if growth.begin < last.begin + parent.size:
                parent = self.split(parent, last.begin, growth.begin - last.begin)
                if parent == NULL:
                    free(node)
                    return OUT_OF_MEMORY
        for i in range(found.n_steps, n_kept, -1):
            self.detach(found.steps[i - 1].node)
        self.attach(node, parent)
        self.touch(node)
        self.version += 1
        return 0

    cdef Node* split(self, Node* node, size_t begin, size_t size) noexcept nogil:
        """Put two nodes in place of one; the first has `size` of its bytes, and is returned."""
        cdef size_t n_cuts = 0, n_ids
        cdef Cut middle = node.base
        cdef Node* upper
        cdef Node* lower
        cdef Node* child
        while n_cuts < node.n_cuts and node.cuts[n_cuts].at <= begin + size:
            middle = node.cuts[n_cuts]
            n_cuts += 1
        n_ids = middle.n_ids - node.base.n_ids
        upper = new_node(size, n_cuts, n_ids, &node.base)
        lower = new_node(node.size - size, node.n_cuts - n_cuts, node.n_ids - n_ids, &middle)
        if upper == NULL or lower == NULL:
            free(upper)
            free(lower)
            return NULL
        memcpy(upper.bytes, node.bytes, size)
        memcpy(upper.cuts, node.cuts, n_cuts * sizeof(Cut))
        memcpy(upper.ids, node.ids, n_ids * sizeof(uint32_t))
        memcpy(lower.bytes, node.bytes + size, node.size - size)
        memcpy(lower.cuts, node.cuts + n_cuts, (node.n_cuts - n_cuts) * sizeof(Cut))
        memcpy(lower.ids, node.ids + n_ids, (node.n_ids - n_ids) * sizeof(uint32_t))
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

    cdef bint make_room(self, const Found* found, size_t n_kept, size_t memory) noexcept nogil:
        """Let go what was not used for longest, until a node of so much memory has room.

        False where it would not even have beside those of the way, of which n_kept stay.
        """
        cdef size_t joined = 0, kept = 0, i
        for i in range(found.n_steps):
            if i < n_kept:
                kept += found.steps[i].node.memory
            else:
                joined += found.steps[i].node.memory
        memory += 2 * node_memory(0, 0, 0)      # where a node is split
        if kept + memory > self.max_bytes:
            return False
        while self.n_bytes - joined + memory > self.max_bytes:
            self.detach(self.root.newer)        # at the other end of the ring: a leaf
            self.n_evicted += 1
        return True

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


# ---------------------------------------------------------------------- streams

cdef inline uint8_t byte_at(const Stream* stream, size_t at, size_t* run) noexcept nogil:
    """The byte at a place, not before that of the last call with this `run`."""
    while at >= stream.runs[run[0]].begin + stream.runs[run[0]].size:
        run[0] += 1
    if at < stream.runs[run[0]].begin:
        return stream.runs[run[0]].mark
    return stream.runs[run[0]].bytes[at - stream.runs[run[0]].begin]


cdef size_t shared(const Stream* stream, size_t at, const uint8_t* bytes, size_t size,
                   size_t* run) noexcept nogil:
    """How many bytes the stream has in common with others from a place on."""
    cdef size_t done = 0, n, offset, same
    cdef const Run* now
    size = min(size, stream.size - at)
    while done < size:
        if byte_at(stream, at + done, run) != bytes[done]:
            return done
        now = stream.runs + run[0]
        if at + done < now.begin:
            done += 1
            continue
        offset = at + done - now.begin
        n = min(size - done, now.size - offset)
        same = first_difference(now.bytes + offset, bytes + done, n)
        done += same
        if same < n:
            return done
    return done


cdef size_t first_difference(const uint8_t* one, const uint8_t* other,
                             size_t size) noexcept nogil:
    cdef size_t at = 0
    while at < size and memcmp(one + at, other + at, min(<size_t>COMPARED_AT_ONCE,
                                                         size - at)) == 0:
        at += COMPARED_AT_ONCE
    while at < size and one[at] == other[at]:
        at += 1
    return min(at, size)


cdef void copy_stream(const Stream* stream, size_t begin, size_t end,
                      uint8_t* out) noexcept nogil:
    """Copy the bytes between two places."""
    cdef size_t run = 0, at = begin, n, offset
    cdef uint8_t byte
    while at < end:
        byte = byte_at(stream, at, &run)
        if at < stream.runs[run].begin:
            out[at - begin] = byte
            at += 1
            continue
        offset = at - stream.runs[run].begin
        n = min(end - at, stream.runs[run].size - offset)
        memcpy(out + (at - begin), stream.runs[run].bytes + offset, n)
        at += n


# ------------------------------------------------------------------------ nodes

cdef inline size_t node_memory(size_t size, size_t n_cuts, size_t n_ids) noexcept nogil:
    return sizeof(Node) + HEAP_BYTES + n_cuts * sizeof(Cut) + n_ids * sizeof(uint32_t) + size


cdef Node* new_node(size_t size, size_t n_cuts, size_t n_ids, const Cut* base) noexcept nogil:
    """A node in one block, outside the tree and without content; NULL without memory."""
    cdef size_t memory = node_memory(size, n_cuts, n_ids)
    cdef Node* node = <Node*>malloc(memory)
    if node == NULL:
        return NULL
    memset(node, 0, sizeof(Node))
    node.memory = memory
    node.size = size
    node.n_cuts = n_cuts
    node.n_ids = n_ids
    node.base = base[0]
    node.cuts = <Cut*>(node + 1)
    node.ids = <uint32_t*>(node.cuts + n_cuts)
    node.bytes = <uint8_t*>(node.ids + n_ids)
    return node


cdef inline void release_node(Node* node) noexcept nogil:
    node.refs -= 1
    if node.refs == 0:
        free(node)


cdef inline Node* child_of(Node* parent, uint8_t byte) noexcept nogil:
    """The child that begins with a byte, or NULL; it is the first from then on."""
    cdef Node** link = &parent.child
    cdef Node* child
    while link[0] != NULL and link[0].bytes[0] != byte:
        link = &link[0].sibling
    child = link[0]
    if child != NULL and child != parent.child:
        link[0] = child.sibling
        child.sibling = parent.child
        parent.child = child
    return child


# -------------------------------------------------------------------- found ways

cdef void compare(const Stream* stream, Found* found) noexcept nogil:
    """Find how far the stream goes along its way, and which cuts hold there."""
    cdef size_t i, run = 0, same
    cdef Step* step
    found.common = found.n_steps = 0
    for i in range(found.n_held):
        step = found.steps + i
        same = shared(stream, step.begin, step.node.bytes, step.node.size, &run)
        if same == 0:
            break
        step.n_cuts = step.node.n_cuts
        leave_out(found, i, step.node.base.at)
        found.common += same
        found.n_steps += 1
        if same < step.node.size:
            break


cdef void leave_out(Found* found, size_t n_steps, size_t limit) noexcept nogil:
    """Of the first steps leave out the cuts beyond a place."""
    cdef Step* step
    while n_steps:
        n_steps -= 1
        step = found.steps + n_steps
        while step.n_cuts and step.node.cuts[step.n_cuts - 1].at > limit:
            step.n_cuts -= 1
        if step.n_cuts or step.node.base.at <= limit:
            break


cdef bint cut_at(const Found* found, size_t limit, Cut* out) noexcept nogil:
    """Find the last cut that is not beyond a place; whether there is one."""
    cdef size_t i, low, high, middle
    for i in range(found.n_steps, 0, -1):
        low = 0
        high = found.steps[i - 1].n_cuts
        while low < high:
            middle = (low + high) // 2
            if found.steps[i - 1].node.cuts[middle].at <= limit:
                low = middle + 1
            else:
                high = middle
        if low:
            out[0] = found.steps[i - 1].node.cuts[low - 1]
            return True
    return False


cdef bint has_cut(const Found* found, const Cut* cut) noexcept nogil:
    """Whether a cut is there (still), or is none at all."""
    cdef Cut other
    return cut.at == 0 or (cut.at <= found.common and cut_at(found, cut.at, &other)
                           and other.at == cut.at and other.n_ids == cut.n_ids)


cdef void copy_ids(const Found* found, const Cut* cut, uint32_t* out) noexcept nogil:
    """Copy all ids before one of the cuts."""
    cdef size_t i, done = 0, last
    cdef const Step* step
    for i in range(found.n_steps):
        step = found.steps + i
        if done == cut.n_ids:
            break
        if step.n_cuts == 0:
            continue
        last = min(step.node.cuts[step.n_cuts - 1].n_ids, cut.n_ids)
        if last > done:
            memcpy(out + done, step.node.ids + (done - step.node.base.n_ids),
                   (last - done) * sizeof(uint32_t))
            done = last


# ----------------------------------------------------------------------- growing

cdef void plan_growth(const Found* found, const Cut* base, size_t end,
                      Growth* growth) noexcept nogil:
    """Decide what a new node holds: the nodes that it goes on from, if they are no longer.

    These are leaves, or become so when those below them are taken. Of each only the cuts count
    that the one below goes on from.
    """
    cdef const Step* step
    cdef const Node* below = NULL
    growth.begin = found.common
    growth.base = base[0]
    growth.n_joined = growth.n_cuts = 0
    while growth.n_joined < found.n_steps:
        step = found.steps + (found.n_steps - 1 - growth.n_joined)
        if (step.begin + step.node.size > growth.begin
                or step.node.size > end - growth.begin
                or step.node.child != below or (below != NULL and below.sibling != NULL)
                or growth.base.at < step.node.base.at):
            break
        growth.n_cuts += cuts_before(step.node, growth.base.at)
        growth.begin = step.begin
        growth.base = step.node.base
        growth.n_joined += 1
        below = step.node


cdef size_t cuts_before(const Node* node, size_t limit) noexcept nogil:
    """How many cuts of a node are not beyond a place."""
    cdef size_t n = node.n_cuts
    while n and node.cuts[n - 1].at > limit:
        n -= 1
    return n


cdef void fill_node(Node* node, const Found* found, size_t n_kept, const Cut* base,
                    const Cut* cuts, size_t n_cuts, const uint32_t* ids) noexcept nogil:
    """Write the cuts and ids of the steps behind the first, then the new ones."""
    cdef const Node* joined
    cdef const Cut* limit
    cdef size_t i, n, done = 0, at = 0
    for i in range(n_kept, found.n_steps):
        joined = found.steps[i].node
        limit = base if i + 1 == found.n_steps else &found.steps[i + 1].node.base
        n = cuts_before(joined, limit.at)
        memcpy(node.cuts + done, joined.cuts, n * sizeof(Cut))
        done += n
        n = limit.n_ids - joined.base.n_ids
        memcpy(node.ids + at, joined.ids, n * sizeof(uint32_t))
        at += n
    memcpy(node.cuts + done, cuts, n_cuts * sizeof(Cut))
    memcpy(node.ids + at, ids, (cuts[n_cuts - 1].n_ids - base.n_ids) * sizeof(uint32_t))


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
