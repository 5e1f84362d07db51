# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts that were encoded before, as a tree of their bytes, with the ids up to certain cuts.

A *stream* is a text with all that its ids depend on, as bytes (see _runs).

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
next node is found by one byte, and then compared with the stream. There are no hashes of text, so
none that could collide or be flooded, and a look-up is one pass over the bytes that are shared. Of
a string that is not ASCII these are made in the meantime, some kilobytes at a time. A new stream
adds what it does not share: memory is linear in what is stored, however many cuts there are. A node
whose stream goes on becomes one with what is added, if it is short.

The cuts of a node and of those above it hold for the stream that brought it. As a stream may share
bytes with another beyond the last cut that it shares, a node names the cut that its ids go on from
(`base`), and on the way down cuts beyond that are left out.

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
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from tokcy._idbuffer cimport (
    HEAP_BYTES,
    IdBuffer,
    buffer_at,
    buffer_end,
    buffer_hold,
    buffer_memory,
    buffer_new,
    buffer_part,
    buffer_release,
    buffer_take,
)
from tokcy._runs cimport Stream, byte_at, copy_stream, rewind, shared
from tokcy._status cimport OUT_OF_MEMORY

cdef extern from "Python.h":
    void* PyThread_allocate_lock()
    int PyThread_acquire_lock(void* lock, int wait) nogil
    void PyThread_release_lock(void* lock) nogil
    void PyThread_free_lock(void* lock)

cdef enum:
    JOINED_BYTES = 16384        # of a node that is copied into the next: longer ones take longer
    ROOM_PART = 64              # ids that there is room for: at most a sixteenth of all memory

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

    cdef int find(self, const Stream* stream, Found* found) noexcept nogil:
        """Fill `found`, which holds zeros, and is to be given to `finish` in any case; a status."""
        PyThread_acquire_lock(self.lock, 1)
        found.version = self.version
        PyThread_release_lock(self.lock)
        return self.walk(stream, found, False)

    cdef int find_again(self, const Stream* stream, Found* found) noexcept nogil:
        """Do so where the tree has changed, but for the nodes that are in it still; a status."""
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
        return self.walk(stream, found, True)

    cdef int walk(self, const Stream* stream, Found* found, bint locked) noexcept nogil:
        """Go on down while the bytes are those of the stream, and hold the nodes; a status."""
        cdef Node* node = self.root
        cdef size_t run = 0, same
        cdef int byte
        cdef Step* moved
        cdef Step* step
        if found.n_steps:
            step = found.steps + (found.n_steps - 1)
            node = step.node
            if found.common < step.begin + node.size:
                return 0
        while True:
            byte = byte_at(stream, found.common, &run)
            if byte < 0:
                return 0
            if found.n_steps == found.capacity:
                moved = <Step*>realloc(found.steps, (2 * found.capacity + 16) * sizeof(Step))
                if moved == NULL:
                    return OUT_OF_MEMORY
                found.steps = moved
                found.capacity = 2 * found.capacity + 16
            step = found.steps + found.n_steps
            if not self.step_down(node, <uint8_t>byte, locked, step):
                return 0
            node = step.node
            step.begin = found.common
            step.n_cuts = node.n_cuts
            leave_out(found, found.n_steps, node.base.at)
            found.n_steps += 1
            same = shared(stream, found.common, node.bytes, node.size, &run)
            found.common += same
            if same < node.size:
                return 0

    cdef bint step_down(self, Node* node, uint8_t byte, bint locked, Step* step) noexcept nogil:
        """Find and hold the child that begins with a byte; whether there is one."""
        cdef Node* child
        if not locked:
            PyThread_acquire_lock(self.lock, 1)
        child = child_of(node, byte)
        if child != NULL:
            child.refs += 1
            step.node = child
            step.leaf = child.child == NULL
        if not locked:
            PyThread_release_lock(self.lock)
        return child != NULL

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
        cdef int status = 0
        cdef size_t end
        end = stored_end(stream, cuts, n_cuts, reach)
        PyThread_acquire_lock(self.lock, 1)
        if found.common < end and found.version != self.version:
            status = self.find_again(stream, found)
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
        cdef Halves halves
        cdef IdBuffer* upper_ids = NULL
        cdef IdBuffer* lower_ids = NULL
        cdef Node* upper = NULL
        cdef Node* lower = NULL
        cdef Node* child
        cdef size_t n_cuts, middle
        plan_split(node, begin + size, &halves)
        n_cuts = halves.n_cuts
        middle = halves.middle.n_ids
        if (part_ids(node, node.base.n_ids, middle, halves.upper_keeps, &upper_ids)
                and part_ids(node, middle, last_id(node), halves.lower_keeps, &lower_ids)):
            upper = new_node(size, n_cuts, upper_ids, &node.base)
            lower = new_node(node.size - size, node.n_cuts - n_cuts, lower_ids, &halves.middle)
        buffer_release(upper_ids)
        buffer_release(lower_ids)
        if upper == NULL or lower == NULL:
            free_node(upper)
            free_node(lower)
            return NULL
        memcpy(upper.bytes, node.bytes, size)
        memcpy(upper.cuts, node.cuts, n_cuts * sizeof(Cut))
        memcpy(lower.bytes, node.bytes + size, node.size - size)
        memcpy(lower.cuts, node.cuts + n_cuts, (node.n_cuts - n_cuts) * sizeof(Cut))
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


# ------------------------------------------------------------------------ nodes

cdef inline size_t node_memory(size_t size, size_t n_cuts) noexcept nogil:
    return sizeof(Node) + HEAP_BYTES + n_cuts * sizeof(Cut) + size


cdef Node* new_node(size_t size, size_t n_cuts, IdBuffer* buffer, const Cut* base) noexcept nogil:
    """A node in one block, outside the tree and without content; NULL without memory."""
    cdef size_t memory = node_memory(size, n_cuts)
    cdef Node* node = <Node*>malloc(memory)
    if node == NULL:
        return NULL
    memset(node, 0, sizeof(Node))
    node.memory = memory
    node.size = size
    node.n_cuts = n_cuts
    node.base = base[0]
    node.cuts = <Cut*>(node + 1)
    node.bytes = <uint8_t*>(node.cuts + n_cuts)
    node.buffer = buffer
    if buffer != NULL:
        buffer_hold(buffer)
    return node


cdef void free_node(Node* node) noexcept nogil:
    if node != NULL:
        buffer_release(node.buffer)
        free(node)


cdef inline void release_node(Node* node) noexcept nogil:
    node.refs -= 1
    if node.refs == 0:
        free_node(node)


cdef inline size_t last_id(const Node* node) noexcept nogil:
    """How many ids of the text stand before its last cut."""
    return node.cuts[node.n_cuts - 1].n_ids if node.n_cuts else node.base.n_ids


cdef void plan_split(const Node* node, size_t at, Halves* halves) noexcept nogil:
    """Decide who gets what of a node that is split at a place of the stream.

    A part stays in the node's buffer if it needs half of it, or goes on from one that is in it; of
    another the ids are copied. So what stays in the tree for long keeps little alive that only
    others needed, which have gone.
    """
    cdef size_t half
    halves.n_cuts = cuts_before(node, at)
    halves.middle = node.cuts[halves.n_cuts - 1] if halves.n_cuts else node.base
    if node.buffer != NULL:
        half = (node.buffer.capacity + 1) // 2
        halves.upper_keeps = (node.parent.buffer == node.buffer
                              or halves.middle.n_ids - node.base.n_ids >= half)
        halves.lower_keeps = (halves.upper_keeps
                              or last_id(node) - halves.middle.n_ids >= half)


cdef size_t split_memory(const Node* node, size_t at) noexcept nogil:
    """What is taken where a node is split at a place of the stream."""
    cdef Halves halves
    plan_split(node, at, &halves)
    return node_memory(0, 0) + part_memory(
        node, node.base.n_ids, halves.middle.n_ids, halves.upper_keeps
    ) + part_memory(node, halves.middle.n_ids, last_id(node), halves.lower_keeps)


cdef size_t part_memory(const Node* node, size_t begin, size_t end, bint keeps) noexcept nogil:
    """Bytes of the buffer that `part_ids` makes."""
    if begin == end or keeps:
        return 0
    return buffer_memory(end - begin + (0 if begin else node.buffer.n_front))


cdef bint part_ids(Node* node, size_t begin, size_t end, bint keeps,
                   IdBuffer** ids) noexcept nogil:
    """A buffer for ids of a node, which may be the node's; False without memory."""
    if begin == end:
        return True
    if keeps:
        buffer_hold(node.buffer)
        ids[0] = node.buffer
    else:
        ids[0] = buffer_part(node.buffer, begin, end)
    return ids[0] != NULL


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


cdef size_t n_characters(const Found* found, size_t begin, size_t end) noexcept nogil:
    """How many characters begin between two places of what was found."""
    cdef size_t n = 0, at, i
    cdef const Step* step
    for i in range(found.n_steps, 0, -1):
        step = found.steps + (i - 1)
        for at in range(max(begin, step.begin), min(end, step.begin + step.node.size)):
            n += (step.node.bytes[at - step.begin] & 0xC0) != 0x80
        if step.begin <= begin:
            break
    return n


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
    """Whether a cut is there (still), or is none at all.

    At the same place there may be another by now: that of a text which ends there.
    """
    cdef Cut other
    return cut.at == 0 or (cut.at <= found.common and cut_at(found, cut.at, &other)
                           and other.at == cut.at and other.back == cut.back
                           and other.n_ids == cut.n_ids)


cdef void copy_ids(const Found* found, size_t begin, const Cut* cut,
                   uint32_t* out) noexcept nogil:
    """Copy the ids between a place and one of the cuts."""
    cdef size_t i, done = begin, last
    cdef const Step* step
    for i in range(found.n_steps):
        step = found.steps + i
        if done >= cut.n_ids:
            break
        if step.n_cuts == 0:
            continue
        last = min(step.node.cuts[step.n_cuts - 1].n_ids, cut.n_ids)
        if last > done:
            memcpy(out + (done - begin), buffer_at(step.node.buffer, done),
                   (last - done) * sizeof(uint32_t))
            done = last


# ----------------------------------------------------------------------- growing

cdef size_t stored_end(const Stream* stream, const Cut* cuts, size_t n_cuts,
                       size_t reach) noexcept nogil:
    """Up to where a stream with new cuts would be stored; 0 without any."""
    return min(stream.size, cuts[n_cuts - 1].at + reach) if n_cuts else 0


cdef IdBuffer* buffer_for(PrefixStore store, const Found* found, const Cut* base,
                          const uint32_t* ids, size_t n_ids, bint stored, const uint32_t* front,
                          size_t n_front) noexcept nogil:
    """A buffer with the ids up to `base` and new ones behind them; the caller's to release.

    Behind a beginning that others share it has the ids from there on; for views all of the text,
    where that at most doubles them.

    Args:
        ids, n_ids: the new ones.
        stored: whether the text will be; else there is no buffer, unless all of it is known.
        front: ids of the post-processor.

    Returns:
        NULL also without memory.
    """
    cdef size_t begin = base.n_ids, room = 0, end = 0, total = base.n_ids + n_ids
    cdef IdBuffer* buffer = NULL
    cdef const Step* step = step_with(found, base)
    if step != NULL and step.node.buffer != NULL:
        buffer = step.node.buffer
        # What the node has behind `base` mostly comes again. Only what is in the tree is written.
        end = min(total, step.node.cuts[step.node.n_cuts - 1].n_ids)
        if memcmp(buffer_at(buffer, begin), ids, (end - begin) * sizeof(uint32_t)) == 0:
            if end == total:
                buffer_hold(buffer)
                return buffer
            if step.leaf and buffer_end(buffer) == end:
                begin = buffer.begin
                room = min((total - begin) // 2, store.max_bytes // ROOM_PART)
    if not stored or n_ids == 0:
        return NULL
    if store.views and total >= 2 * begin:
        begin = 0
    if room and begin == buffer.begin and buffer_take(buffer, end, total - end):
        buffer_hold(buffer)
    else:
        buffer = buffer_new(begin, total - begin + room, front, n_front)
        if buffer == NULL:
            return NULL
        buffer_take(buffer, begin, total - begin)
        copy_ids(found, begin, base, buffer.ids)
        end = base.n_ids
    memcpy(buffer_at(buffer, end), ids + (end - base.n_ids), (total - end) * sizeof(uint32_t))
    return buffer


cdef bint is_behind(const Cut* cut, const Step* step) noexcept nogil:
    """Whether a cut is behind a node's first byte, or one of the node's cuts."""
    return step.begin < cut.at or (step.node.n_cuts > 0 and step.node.cuts[0].at <= cut.at)


cdef const Step* step_with(const Found* found, const Cut* cut) noexcept nogil:
    """The step that has a cut, or NULL."""
    cdef size_t i
    cdef const Step* step
    for i in range(found.n_steps if cut.at else 0, 0, -1):
        step = found.steps + (i - 1)
        if step.n_cuts and step.node.cuts[0].at <= cut.at:
            return step
    return NULL


cdef void plan_growth(const Found* found, const Cut* base, size_t end, size_t n_cuts,
                      const IdBuffer* buffer, Growth* growth) noexcept nogil:
    """Decide what a new node holds, and what it takes.

    That is what is new, and the nodes that it goes on from, if they are no longer.

    These are leaves, or become so when those below them are taken. Of each only the cuts count
    that the one below goes on from. With them goes the buffer that they had, if it is another.
    """
    cdef const Step* step
    cdef const Node* below = NULL
    growth.begin = found.common
    growth.base = base[0]
    growth.n_joined = growth.n_cuts = 0
    while growth.n_joined < found.n_steps:
        step = found.steps + (found.n_steps - 1 - growth.n_joined)
        if (step.begin + step.node.size > growth.begin
                or step.node.child != below or (below != NULL and below.sibling != NULL)
                or growth.base.at < step.node.base.at
                or (step.node.buffer != NULL if buffer == NULL
                    else step.node.base.n_ids < buffer.begin)):
            break
        if step.node.buffer == buffer and step.node.size > min(<size_t>JOINED_BYTES,
                                                               end - growth.begin):
            break
        growth.n_cuts += cuts_before(step.node, growth.base.at)
        growth.begin = step.begin
        growth.base = step.node.base
        growth.n_joined += 1
        below = step.node
    growth.memory = node_memory(end - growth.begin, growth.n_cuts + n_cuts)
    add_up(found, buffer, growth)


cdef void add_up(const Found* found, const IdBuffer* buffer, Growth* growth) noexcept nogil:
    """Add up the memory of the nodes of the way, and what the new node takes beside its own."""
    cdef size_t n_kept = found.n_steps - growth.n_joined, first = 0, i
    cdef const Node* node
    cdef bint is_new = buffer != NULL
    growth.kept = growth.joined = 0
    for i in range(found.n_steps):
        node = found.steps[i].node
        if i < n_kept:
            growth.kept += node.memory
        else:
            growth.joined += node.memory
        if node.buffer == NULL:
            continue
        if i == 0 or found.steps[i - 1].node.buffer != node.buffer:
            first = i
            growth.kept += node.buffer.memory
        # One that only joined nodes have goes with them; one that only others have may have to.
        if first >= n_kept and i + 1 - first == node.buffer.n_nodes and node.buffer != buffer:
            growth.kept -= node.buffer.memory
            growth.joined += node.buffer.memory
        is_new = is_new and node.buffer != buffer
    if is_new:
        growth.memory += buffer.memory
    if n_kept:
        node = found.steps[n_kept - 1].node
        if growth.begin < found.steps[n_kept - 1].begin + node.size:
            growth.memory += split_memory(node, growth.begin)


cdef size_t cuts_before(const Node* node, size_t limit) noexcept nogil:
    """How many cuts of a node are not beyond a place."""
    cdef size_t n = node.n_cuts
    while n and node.cuts[n - 1].at > limit:
        n -= 1
    return n


cdef void fill_node(Node* node, const Found* found, size_t n_kept, const Cut* base,
                    const Cut* cuts, size_t n_cuts) noexcept nogil:
    """Write the bytes and cuts of the steps behind the first, then the new cuts."""
    cdef const Node* joined
    cdef const Cut* limit
    cdef size_t i, n, done = 0, at = 0
    for i in range(n_kept, found.n_steps):
        joined = found.steps[i].node
        limit = base if i + 1 == found.n_steps else &found.steps[i + 1].node.base
        n = cuts_before(joined, limit.at)
        memcpy(node.cuts + done, joined.cuts, n * sizeof(Cut))
        memcpy(node.bytes + at, joined.bytes, joined.size)
        done += n
        at += joined.size
    memcpy(node.cuts + done, cuts, n_cuts * sizeof(Cut))


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
