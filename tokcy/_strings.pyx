# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lists of tokens, and what they are filled from: strings, and the arrays of a saved vocabulary."""

from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tokcy._spelling cimport BYTE_NAME, BYTES, TEXT, byte_level_text, read_byte_level
from tokcy._utf8 cimport utf8_valid_size

from tokcy.errors import ModelFileError

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL


cdef int strings_open(Strings* strings, size_t capacity, size_t arena_size) noexcept nogil:
    """An empty list with room for so many tokens and bytes; -1 without memory."""
    memset(strings, 0, sizeof(Strings))
    strings.capacity = capacity + 1
    strings.arena_size = arena_size + 1
    strings.arena = <uint8_t*>PyMem_RawMalloc(strings.arena_size)
    strings.offsets = <uint32_t*>PyMem_RawMalloc(strings.capacity * sizeof(uint32_t))
    strings.kinds = <uint8_t*>PyMem_RawMalloc(strings.capacity)
    if strings.arena == NULL or strings.offsets == NULL or strings.kinds == NULL:
        strings_free(strings)
        return -1
    strings.offsets[0] = 0
    return 0


cdef void strings_free(Strings* strings) noexcept nogil:
    PyMem_RawFree(strings.arena)
    PyMem_RawFree(strings.offsets)
    PyMem_RawFree(strings.kinds)
    memset(strings, 0, sizeof(Strings))


cdef int strings_close(Strings* strings, size_t size, uint8_t kind) noexcept nogil:
    """Make a token of the next `size` bytes of the arena; -1 without memory."""
    cdef size_t capacity
    cdef void* moved
    if strings.n + 1 >= strings.capacity:
        capacity = 2 * strings.capacity
        moved = PyMem_RawRealloc(strings.offsets, capacity * sizeof(uint32_t))
        if moved == NULL:
            return -1
        strings.offsets = <uint32_t*>moved
        moved = PyMem_RawRealloc(strings.kinds, capacity)
        if moved == NULL:
            return -1
        strings.kinds = <uint8_t*>moved
        strings.capacity = capacity
    strings.kinds[strings.n] = kind
    strings.offsets[strings.n + 1] = strings.offsets[strings.n] + <uint32_t>size
    strings.n += 1
    return 0


cdef int strings_close_text(Strings* strings, size_t size) noexcept nogil:
    """The same of the UTF-8 text of a token, which the arena holds there."""
    cdef uint8_t kind = read_byte_level(strings.arena + strings.offsets[strings.n], &size)
    return strings_close(strings, size, kind)


cdef int strings_append(Strings* strings, object text) except -1:
    """Append a token as it is written in the file."""
    cdef Py_ssize_t size = 0
    cdef const char* encoded = PyUnicode_AsUTF8AndSize(text, &size)
    cdef size_t used = strings.offsets[strings.n]
    if used + size > strings.arena_size:
        strings.arena_size = 2 * (used + size)
        strings.arena = <uint8_t*>resized(strings.arena, strings.arena_size)
    memcpy(strings.arena + used, encoded, size)
    if strings_close_text(strings, size) < 0:
        raise MemoryError
    return 0


cdef void* resized(void* block, size_t size) except NULL:
    cdef void* moved = PyMem_RawRealloc(block, size)
    if moved == NULL:
        raise MemoryError
    return moved


cdef str strings_text(const Strings* strings, size_t index):
    return byte_level_text(strings.arena + strings.offsets[index],
                           strings.offsets[index + 1] - strings.offsets[index],
                           strings.kinds[index])


# ------------------------------------------------------------ from Python objects

cdef int read_vocab(dict vocab, uint32_t* ids, Strings* entries) except -1:
    """Append the tokens, and write the id of each."""
    cdef Py_ssize_t position = 0
    cdef PyObject* key = NULL
    cdef PyObject* value = NULL
    while PyDict_Next(vocab, &position, &key, &value):
        ids[entries.n] = <uint32_t>(<object>value)
        strings_append(entries, <object>key)
    return 0


cdef int read_merges(list merges, Strings* parts, str source) except -1:
    """Append the two parts of each merge."""
    cdef size_t index
    for index in range(<size_t>len(merges)):
        item = merges[index]
        pair = item.split(" ") if isinstance(item, str) else item
        if len(pair) != 2:
            raise merge_error(index, item, "does not have exactly two parts", source)
        strings_append(parts, pair[0])
        strings_append(parts, pair[1])
    return 0


cdef merge_error(size_t index, object item, str reason, str source):
    shown = repr(item) if len(repr(item)) <= 80 else repr(item)[:77] + "..."
    return ModelFileError(f"{shown} {reason}", source=source, field=f"model.merges[{index}]")


# ------------------------------------------------------------------ from arrays

cdef int fill_entries(dict tables, bint byte_level, uint8_t marks, Strings* entries,
                      uint32_t** ids) except -1:
    """Copy entries from `Vocabulary.tables`, of which nothing is taken for granted."""
    cdef const uint8_t[::1] arena = tables["arena"], offsets = tables["offsets"]
    cdef const uint8_t[::1] kinds = tables["kinds"], numbers = tables["ids"]
    cdef size_t n = len(kinds), i, size, begin = 0
    cdef bint rises = True, is_kind = True
    if <size_t>len(offsets) != 4 * (n + 1):
        raise ValueError(f"offsets: not {n + 1} numbers")
    if <size_t>len(numbers) != 4 * n:
        raise ValueError(f"ids: not {n} numbers")
    if strings_open(entries, n, len(arena)) < 0:
        raise MemoryError
    ids[0] = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
    if ids[0] == NULL:
        raise MemoryError
    memcpy(entries.offsets, &offsets[0], 4 * (n + 1))
    for i in range(n):
        rises &= entries.offsets[i] <= entries.offsets[i + 1]
        if kinds[i] & BYTES:
            is_kind &= kinds[i] >> 1 & ~marks == 0
        else:
            is_kind &= kinds[i] == TEXT or (
                kinds[i] == BYTE_NAME and entries.offsets[i + 1] - entries.offsets[i] == 1)
    if not rises or entries.offsets[0] != 0 or entries.offsets[n] != <size_t>len(arena):
        raise ValueError("offsets: not rising from 0 to the end of the arena")
    if not is_kind:
        raise ValueError("kinds: none of those there are")
    entries.n = n
    if n:
        memcpy(entries.kinds, &kinds[0], n)
        memcpy(ids[0], &numbers[0], 4 * n)
    if len(arena):
        memcpy(entries.arena, &arena[0], len(arena))
    for i in range(n + 1):      # one check of entries in a row takes a fraction of one each
        if i < n and (kinds[i] == TEXT or not (byte_level or kinds[i] == BYTE_NAME)):
            is_kind &= (entries.offsets[i] == entries.offsets[i + 1]
                        or entries.arena[entries.offsets[i]] & 0xC0 != 0x80)
            continue
        size = entries.offsets[i] - begin
        if utf8_valid_size(entries.arena + begin, size) != size or not is_kind:
            raise ValueError("arena: an entry of characters is not UTF-8")
        begin = entries.offsets[i + 1 if i < n else n]
    return 0
