# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Nodes of the tree of texts (see _prefix), and ways through it.

A node has some bytes of streams, and the cuts among them. These hold, with those of the nodes
above, for the stream that brought them. As a stream may share bytes with another beyond the last
cut that it shares, a node names the cut that its ids go on from (`base`), and on the way down cuts
beyond that are left out.

A stream that goes on from a node gets one of its own, which the node goes into if it is short. Its
ids are put behind those that it goes on from, in the same buffer (see _idbuffer). Where another has
done so already, or there is no room, it gets another buffer.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
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
from tokcy._runs cimport Stream

cdef enum:
    JOINED_BYTES = 16384        # of a node that is copied into the next: longer ones take longer
    ROOM_PART = 64              # ids that there is room for: at most a sixteenth of all memory


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


cdef void release_node(Node* node) noexcept nogil:
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


cdef bint split_node(Node* node, size_t begin, size_t size, Node** upper,
                     Node** lower) noexcept nogil:
    """Make two nodes of what one has; the first gets `size` of its bytes. False without memory.

    Args:
        begin: the place of its first byte.
    """
    cdef Halves halves
    cdef IdBuffer* upper_ids = NULL
    cdef IdBuffer* lower_ids = NULL
    cdef size_t n_cuts, middle
    upper[0] = lower[0] = NULL
    plan_split(node, begin + size, &halves)
    n_cuts = halves.n_cuts
    middle = halves.middle.n_ids
    if (part_ids(node, node.base.n_ids, middle, halves.upper_keeps, &upper_ids)
            and part_ids(node, middle, last_id(node), halves.lower_keeps, &lower_ids)):
        upper[0] = new_node(size, n_cuts, upper_ids, &node.base)
        lower[0] = new_node(node.size - size, node.n_cuts - n_cuts, lower_ids, &halves.middle)
    buffer_release(upper_ids)
    buffer_release(lower_ids)
    if upper[0] == NULL or lower[0] == NULL:
        free_node(upper[0])
        free_node(lower[0])
        return False
    memcpy(upper[0].bytes, node.bytes, size)
    memcpy(upper[0].cuts, node.cuts, n_cuts * sizeof(Cut))
    memcpy(lower[0].bytes, node.bytes + size, node.size - size)
    memcpy(lower[0].cuts, node.cuts + n_cuts, (node.n_cuts - n_cuts) * sizeof(Cut))
    return True


cdef Node* child_of(Node* parent, uint8_t byte) noexcept nogil:
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

cdef const uint8_t* rest_of(const Found* found, size_t* size) noexcept nogil:
    """What the last node has beyond the bytes that are shared."""
    cdef const Step* last
    if found.n_steps == 0:
        size[0] = 0
        return NULL
    last = found.steps + (found.n_steps - 1)
    size[0] = last.begin + last.node.size - found.common
    return last.node.bytes + (found.common - last.begin)


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


cdef IdBuffer* buffer_for(size_t max_bytes, bint views, const Found* found, const Cut* base,
                          const uint32_t* ids, size_t n_ids, bint stored, const uint32_t* front,
                          size_t n_front) noexcept nogil:
    """A buffer with the ids up to `base` and new ones behind them; the caller's to release.

    Behind a beginning that others share it has the ids from there on; for views all of the text,
    where that at most doubles them.

    Args:
        max_bytes: of the store.
        views: whether ids are given as views of it.
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
                room = min((total - begin) // 2, max_bytes // ROOM_PART)
    if not stored or n_ids == 0:
        return NULL
    if views and total >= 2 * begin:
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
