# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""`Encoding`: the ids of a text and all that Hugging Face tells about each of them.

An Encoding is made of a stretch of the ids of a text; what the post-processor and padding put
around them is known, and the rest is found out when it is asked for. One that is changed, merged
or unpickled has all its columns as arrays instead. Columns are replaced and never written to, so
copies share them.
"""

cimport cython
cimport numpy as cnp
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint32_t

from tokcy._lists cimport fill_list

import copyreg
import logging
import operator
import warnings
from collections.abc import Sequence

import numpy as np
import tokenizers

from tokcy.dropin.state import columns_of_state, state_of_columns
from tokcy.errors import TokcyError

cnp.import_array()

cdef extern from "Python.h":
    int PyGC_Disable()
    int PyGC_Enable()

cdef object logger = logging.getLogger("tokcy")
cdef cnp.ndarray NO_NUMBERS = np.zeros(0, dtype=np.uint32)
cdef cnp.ndarray NO_WORDS = np.zeros(0, dtype=np.int64)
cdef cnp.ndarray NO_OFFSETS = np.zeros((0, 2), dtype=np.int64)


@cython.final
cdef class Cut:
    """How texts of too many ids are cut (rule O5).

    Args:
        limit: most ids of a text.
        stride: ids that a part shares with the one before.
        from_left: whether parts are counted from the end.
        problem: why a text that is too long cannot be cut, or None.
    """

    cdef readonly Py_ssize_t limit
    cdef readonly Py_ssize_t stride
    cdef readonly bint from_left
    cdef readonly object problem

    def __cinit__(self, Py_ssize_t limit, Py_ssize_t stride, bint from_left, problem=None):
        self.limit, self.stride, self.from_left = limit, stride, from_left
        self.problem = problem

    cdef list parts(self, Py_ssize_t n):
        """(begin, end) of all parts of n ids, of which the first is the one that is kept."""
        cdef list parts = []
        cdef Py_ssize_t step, at
        if n <= self.limit:
            return [(0, n)]
        if self.problem is not None:
            raise TokcyError(f"truncation: {self.problem}")
        if self.limit == 0:
            return [(0, 0), (0, n)]
        step = self.limit - self.stride
        at = n if self.from_left else 0
        while True:
            if self.from_left:
                parts.append((max(at - self.limit, 0), at))
                if at <= self.limit:
                    return parts
                at -= step
            else:
                parts.append((at, min(at + self.limit, n)))
                if at + self.limit >= n:
                    return parts
                at += step


@cython.final
cdef class Filling:
    """How texts are filled up (rule O6).

    Args:
        pad_id, pad_type_id, pad_token: what with.
        on_left: whether it goes before the ids.
        length: up to how many ids, or -1 for as many as the longest text has.
        multiple: that length is rounded up to a multiple of it.
    """

    cdef readonly uint32_t pad_id
    cdef readonly uint32_t pad_type_id
    cdef readonly str pad_token
    cdef readonly bint on_left
    cdef readonly Py_ssize_t length
    cdef readonly Py_ssize_t multiple

    def __cinit__(self, uint32_t pad_id, uint32_t pad_type_id, str pad_token not None,
                  bint on_left, Py_ssize_t length=-1, Py_ssize_t multiple=1):
        self.pad_id, self.pad_type_id, self.pad_token = pad_id, pad_type_id, pad_token
        self.on_left, self.length, self.multiple = on_left, length, multiple

    cdef Py_ssize_t target(self, Py_ssize_t longest):
        cdef Py_ssize_t length = longest if self.length < 0 else self.length
        return (length + self.multiple - 1) // self.multiple * self.multiple


@cython.final
cdef class Text:                # that was encoded
    cdef object encoder
    cdef object text            # str, or of a class of that
    cdef object owner           # of the memory of its ids
    cdef const uint32_t* ids
    cdef Py_ssize_t n
    cdef tuple located
    cdef list tokens

    cdef tuple locate(self):
        if self.located is None:
            self.located = self.encoder.locate(self.text)
        return self.located

    cdef list token_texts(self):
        if self.tokens is None:
            self.tokens = self.encoder.tokens(self.text, self.locate())
        return self.tokens


@cython.final
cdef class Encoding:
    """What Hugging Face's ``Tokenizer.encode`` returns: ids, and where each comes from.

    Methods, arguments, defaults and errors are those of ``tokenizers.Encoding``; what panics
    there is a TokcyError here. Equality is identity. Pickles are those of ``tokenizers.Encoding``,
    and become such where they are read, so that tokcy is not needed there.
    """

    cdef Text source            # None where all columns below are there
    cdef Py_ssize_t begin       # of the ids of the text
    cdef Py_ssize_t end
    cdef Py_ssize_t target      # least ids, by the filling
    cdef bint special
    cdef bint is_part           # an overflowing one
    cdef object around          # Surroundings of the text
    cdef Cut cut                # where overflowing parts are still to be made
    cdef Filling filling
    cdef list parts             # the overflowing ones, None before they are made
    cdef dict ranges            # sequence → (begin, end), None before it is wanted
    cdef cnp.ndarray id_column          # uint32[n], as the next three
    cdef cnp.ndarray type_column
    cdef cnp.ndarray special_column
    cdef cnp.ndarray attention_column
    cdef cnp.ndarray offset_column      # int64[n, 2]
    cdef cnp.ndarray word_column        # int64[n], -1 for none
    cdef list token_column
    cdef dict __dict__

    def __init__(self):
        self.clear()

    @property
    def __class__(self):
        """`tokenizers.Encoding`, so that ``isinstance`` takes this for one."""
        return tokenizers.Encoding

    # ------------------------------------------------------------------ layout

    cdef Py_ssize_t n_before(self):
        return len(self.around.ids_before) if self.special else 0

    cdef Py_ssize_t n_after(self):
        return len(self.around.ids_after) if self.special else 0

    cdef Py_ssize_t n_inner(self):
        """Ids without padding, of an Encoding that has a source."""
        return self.n_before() + self.end - self.begin + self.n_after()

    cdef (Py_ssize_t, Py_ssize_t) padding(self):
        """Padding before and behind, of an Encoding that has a source."""
        cdef Py_ssize_t missing = max(self.target - self.n_inner(), 0)
        if missing and self.filling.on_left:
            return missing, 0
        return 0, missing

    cdef Py_ssize_t size(self):
        if self.source is None:
            return self.id_column.shape[0]
        return max(self.n_inner(), self.target)

    cdef list laid_out(self, padding, before, inner, after):
        """Lists one after another: padding's item so often, and so on."""
        cdef Py_ssize_t left, right
        left, right = self.padding()
        cdef list items = [padding] * left
        if self.special:
            items.extend(before)
        items += inner
        if self.special:
            items.extend(after)
        if right:
            items += [padding] * right
        return items

    cdef cnp.ndarray framed(self, cnp.ndarray inner, value):
        """A column of the text with one value for all around it."""
        cdef Py_ssize_t left = self.padding()[0] + self.n_before(), n = self.size()
        if n == inner.shape[0]:
            return inner
        column = np.full((n, *(<object>inner).shape[1:]), value, dtype=inner.dtype)
        column[left:left + len(inner)] = inner
        return column

    cdef cnp.ndarray offset_array(self):
        if self.offset_column is None:
            offsets = self.source.encoder.trim(self.source.text, self.source.locate(),
                                               slice(self.begin, self.end))
            self.offset_column = np.ascontiguousarray(self.framed(offsets, 0))
        return self.offset_column

    cdef cnp.ndarray word_array(self):
        if self.word_column is None:
            words = self.source.locate()[3][self.begin:self.end]
            self.word_column = np.ascontiguousarray(self.framed(words, -1))
        return self.word_column

    cdef dict sequence_ranges(self):
        cdef Py_ssize_t left
        if self.ranges is None:
            self.ranges = {}
            if self.around.marks_text:
                left = self.padding()[0] + self.n_before()
                self.ranges[0] = (left, left + self.end - self.begin)
        return self.ranges

    cdef list overflow(self):
        """The overflowing parts, not to be given away."""
        cdef list parts
        if self.parts is None:
            parts = []
            if self.cut is not None:
                n = self.source.n
                for begin, end in self.cut.parts(n)[1:]:
                    parts.append(_piece(self, begin, end))
            self.parts = parts
        return self.parts

    # ----------------------------------------------------------------- columns

    cdef int clear(self) except -1:
        return self.set_columns((NO_NUMBERS, NO_NUMBERS, [], NO_WORDS, NO_OFFSETS, NO_NUMBERS,
                                 NO_NUMBERS, [], {}))

    cdef int set_columns(self, tuple columns) except -1:
        (self.id_column, self.type_column, self.token_column, self.word_column,
         self.offset_column, self.special_column, self.attention_column, self.parts,
         self.ranges) = columns
        self.source = None
        return 0

    cdef tuple columns(self):
        """All there is: arrays and lists that are not to be written to."""
        if self.source is not None:
            self.set_columns((
                np.array(self.ids, dtype=np.uint32),
                np.array(self.type_ids, dtype=np.uint32),
                self.tokens,
                self.word_array(),
                self.offset_array(),
                np.array(self.special_tokens_mask, dtype=np.uint32),
                np.array(self.attention_mask, dtype=np.uint32),
                self.overflow(),
                self.sequence_ranges(),
            ))
        return (self.id_column, self.type_column, self.token_column, self.word_column,
                self.offset_column, self.special_column, self.attention_column, self.parts,
                self.ranges)

    cdef Encoding duplicate(self):
        cdef Encoding other = Encoding.__new__(Encoding)
        other.source, other.around = self.source, self.around
        other.begin, other.end, other.target = self.begin, self.end, self.target
        other.special, other.is_part = self.special, self.is_part
        other.cut, other.filling = self.cut, self.filling
        other.id_column, other.type_column = self.id_column, self.type_column
        other.special_column = self.special_column
        other.attention_column = self.attention_column
        other.offset_column, other.word_column = self.offset_column, self.word_column
        other.token_column = self.token_column
        if self.parts is not None:
            other.parts = [(<Encoding>part).duplicate() for part in self.parts]
        if self.ranges is not None:
            other.ranges = dict(self.ranges)
        return other

    @property
    def ids(self):
        """The ids, list[int]."""
        cdef list ids
        if self.source is None:
            return _as_list(self.id_column)
        ids = PyList_New(self.end - self.begin)
        fill_list(ids, 0, self.source.ids + self.begin, self.end - self.begin)
        if self.size() == len(ids):
            return ids
        padding = 0 if self.filling is None else self.filling.pad_id
        return self.laid_out(padding, self.around.ids_before, ids, self.around.ids_after)

    @property
    def type_ids(self):
        """0 for the ids of a first text, 1 for those of a second, or as a template says."""
        if self.source is None:
            return _as_list(self.type_column)
        padding = 0 if self.filling is None else self.filling.pad_type_id
        inner = [0 if self.is_part else self.around.type_id] * (self.end - self.begin)
        return self.laid_out(padding, self.around.type_ids_before, inner,
                             self.around.type_ids_after)

    @property
    def attention_mask(self):
        """1 for each id, 0 for padding."""
        cdef Py_ssize_t left, right
        if self.source is None:
            return _as_list(self.attention_column)
        left, right = self.padding()
        return [0] * left + [1] * self.n_inner() + [0] * right

    @property
    def special_tokens_mask(self):
        """1 for what the post-processor and padding have put there, 0 for the text."""
        if self.source is None:
            return _as_list(self.special_column)
        return self.laid_out(1, [1] * self.n_before(), [0] * (self.end - self.begin),
                             [1] * self.n_after())

    @property
    def tokens(self):
        """The text of each id as it is in the vocabulary, list[str]."""
        cdef list texts
        if self.source is None:
            return list(self.token_column)
        padding = "" if self.filling is None else self.filling.pad_token
        texts = self.source.token_texts()[self.begin:self.end]
        return self.laid_out(padding, self.around.tokens_before, texts, self.around.tokens_after)

    @property
    def offsets(self):
        """(begin, end) of each id in characters of the text, list[tuple[int, int]]."""
        return _pairs(self.offset_array())

    @property
    def word_ids(self):
        """The number of the pre-tokenizer's piece that each id is of, None for no text's."""
        return _numbers(self.word_array())

    @property
    def words(self):
        """Deprecated: `word_ids`."""
        warnings.warn("Deprecated in 0.9.4: Encoding.words is deprecated, please use "
                      "Encoding.word_ids instead.", DeprecationWarning, stacklevel=1)
        return self.word_ids

    @property
    def sequence_ids(self):
        """The number of the text that each id is of, None for no text's."""
        cdef list found = [None] * self.size()
        for sequence in range(self.n_sequences):
            begin, end = self.range_of(sequence)
            found[begin:end] = [sequence] * (end - begin)
        return found

    @property
    def n_sequences(self):
        """How many texts this is of."""
        return len(self.sequence_ranges()) or 1

    @property
    def overflowing(self):
        """What was cut away, in parts of the same length, list[Encoding]."""
        return [(<Encoding>part).duplicate() for part in self.overflow()]

    def __len__(self):
        return self.size()

    def __repr__(self):
        return (f"Encoding(num_tokens={self.size()}, attributes=[ids, type_ids, tokens, offsets, "
                "attention_mask, special_tokens_mask, overflowing])")

    # -------------------------------------------------------------------- maps

    cdef tuple range_of(self, sequence):
        return self.sequence_ranges().get(sequence) or (0, self.size())

    def token_to_sequence(self, token_index):
        """The number of the text that an id is of."""
        token = _size(token_index)
        if token > self.size():
            return None
        if not self.sequence_ranges():
            return 0
        for sequence, (begin, end) in self.sequence_ranges().items():
            if begin <= token < end:
                return sequence
        return None

    def token_to_chars(self, token_index):
        """The offsets of an id of a text."""
        if self.token_to_sequence(token_index) is None or not _size(token_index) < self.size():
            return None
        begin, end = self.offset_array()[_size(token_index)].tolist()
        return begin, end

    def token_to_word(self, token_index):
        """The number of the word that an id is of."""
        if self.token_to_sequence(token_index) is None or not _size(token_index) < self.size():
            return None
        word = int(self.word_array()[_size(token_index)])
        return None if word < 0 else word

    def word_to_tokens(self, word_index, sequence_index=0):
        """The range of ids that a word has."""
        cdef object wanted = _word(word_index)
        begin, end = self.range_of(_size(sequence_index))
        cdef int64_t word = wanted
        cdef Py_ssize_t at, last = end, first = -1, behind = -1
        cdef const int64_t* words
        if last > self.size():
            return None
        words = <const int64_t*>cnp.PyArray_DATA(self.word_array())
        for at in range(<Py_ssize_t>begin, last):
            if words[at] > word:
                break
            if words[at] == word:
                first = at if first < 0 else first
                behind = at + 1
        return None if first < 0 else (first, behind)

    def word_to_chars(self, word_index, sequence_index=0):
        """The range of characters that a word has."""
        tokens = self.word_to_tokens(word_index, sequence_index)
        if tokens is None:
            return None
        offsets = self.offset_array()
        return int(offsets[tokens[0], 0]), int(offsets[tokens[1] - 1, 1])

    def char_to_token(self, char_pos, sequence_index=0):
        """The first id that has a character of a text."""
        cdef object wanted = _size(char_pos)
        begin, end = self.range_of(_size(sequence_index))
        cdef Py_ssize_t at, last = end
        cdef int64_t place
        cdef const int64_t* offsets
        if last > self.size() or wanted >= 1 << 63:
            return None
        place = wanted
        offsets = <const int64_t*>cnp.PyArray_DATA(self.offset_array())
        for at in range(<Py_ssize_t>begin, last):
            if offsets[2 * at] <= place < offsets[2 * at + 1]:
                return at
        return None

    def char_to_word(self, char_pos, sequence_index=0):
        """The number of the word that has a character of a text."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # ----------------------------------------------------------------- changes

    def set_sequence_id(self, sequence_id):
        """Say that all ids are of the text with this number."""
        self.sequence_ranges()[_size(sequence_id)] = (0, self.size())

    def truncate(self, max_length, stride=0, direction="right"):
        """Keep so many ids, and put the others into overflowing parts."""
        length, step = _size(max_length), _size(stride)
        _check_str(direction)
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        cdef Py_ssize_t n = self.size()
        cdef Encoding whole
        cdef Cut cut
        cdef list parts
        if length >= n:
            return
        if length == 0:
            whole = self.duplicate()
            self.clear()
            self.parts = [whole]
            return
        if step >= length:
            raise TokcyError(f"`stride` must be strictly less than `max_len={length}`")
        columns = self.columns()[:7]
        cut = Cut(length, step, direction == "left")
        parts = [_of_columns((*[column[begin:end] for column in columns], [], {}))
                 for begin, end in cut.parts(n)]
        whole = parts.pop(0)
        self.set_columns(whole.columns())
        self.parts = parts

    def pad(self, length, **kwargs):
        """Fill up to so many ids; options are direction, pad_id, pad_type_id and pad_token."""
        target = _size(length)
        pad_id = pad_type_id = 0
        pad_token, direction = "[PAD]", "right"
        for name, value in kwargs.items():
            if name == "direction":
                _check_str(value)
                if value not in ("left", "right"):
                    raise ValueError(
                        f"Unknown `direction`: `{value}`. Use one of `left` or `right`")
                direction = value
            elif name == "pad_id":
                pad_id = _word(value)
            elif name == "pad_type_id":
                pad_type_id = _word(value)
            elif name == "pad_token":
                _check_str(value)
                pad_token = value
            else:
                logger.warning("Ignored unknown kwarg option %s", name)
        _fill(self, target, Filling(pad_id, pad_type_id, str(pad_token), direction == "left"))

    @staticmethod
    def merge(encodings, growing_offsets=True):
        """One Encoding of several, of ours or Hugging Face's, one after another."""
        cdef Encoding merged = Encoding()
        if type(growing_offsets) is not bool:
            raise TypeError(
                f"'{type(growing_offsets).__name__}' object is not an instance of 'bool'")
        if isinstance(encodings, str):
            raise TypeError("Can't extract `str` to `Vec`")
        if not isinstance(encodings, Sequence):
            raise TypeError(
                f"'{type(encodings).__name__}' object is not an instance of 'Sequence'")
        for encoding in [_ours(encoding) for encoding in encodings]:
            _merge_with(merged, encoding, growing_offsets)
        return merged

    # ----------------------------------------------------------------- pickles

    def __getstate__(self):
        """The JSON that Hugging Face pickles, bytes."""
        return state_of_columns(self.nested_columns())

    def __setstate__(self, state):
        """Become what was pickled.

        Raises:
            TypeError: no bytes.
            TokcyError: not the JSON of an Encoding.
        """
        if not isinstance(state, bytes):
            raise TypeError(f"'{type(state).__name__}' object is not an instance of 'bytes'")
        self.set_columns(_with_parts(columns_of_state(state)))

    def __reduce_ex__(self, protocol):
        return copyreg.__newobj__, (tokenizers.Encoding,), self.__getstate__()

    def __copy__(self):
        return self.duplicate()

    def __deepcopy__(self, memo):
        return self.duplicate()

    cdef tuple nested_columns(self):
        """Columns whose parts are such tuples too."""
        columns = self.duplicate().columns()
        parts = [(<Encoding>part).nested_columns() for part in columns[7]]
        return (*columns[:7], parts, columns[8])


# ------------------------------------------------------------------ making them

def encoding_of(encoder, text, cnp.ndarray ids not None, bint special, Cut cut,
                Filling filling):
    """The Encoding of one text.

    Args:
        encoder: has ``surroundings``, and is asked for ``locate``, ``trim`` and ``tokens``.
        text: what was encoded.
        ids: uint32[n], of the text alone.
        special: put the post-processor's ids around them.
        cut, filling: how, or None.

    Raises:
        TokcyError: the text is too long and cannot be cut.
    """
    cdef Encoding encoding = _whole(encoder, text, ids, 0, ids.shape[0], special, cut, filling)
    if filling is not None:
        encoding.target = filling.target(encoding.n_inner())
    return encoding


def encodings_of(encoder, list texts not None, cnp.ndarray values not None,
                 cnp.ndarray offsets not None, bint special, Cut cut, Filling filling):
    """The Encodings of many texts, of which text i has the ids values[offsets[i]:offsets[i + 1]].

    Filled up to the longest of them; otherwise as `encoding_of`.
    """
    cdef list encodings = []
    cdef Encoding encoding
    cdef const int64_t* ends = <const int64_t*>cnp.PyArray_DATA(offsets)
    cdef Py_ssize_t i, target = 0
    for i in range(len(texts)):
        encoding = _whole(encoder, texts[i], values, ends[i], ends[i + 1], special, cut, filling)
        target = max(target, encoding.n_inner())
        encodings.append(encoding)
    if filling is not None:
        target = filling.target(target)
        for encoding in encodings:
            encoding.target = target
    return encodings


cdef Encoding _whole(encoder, text, cnp.ndarray values, Py_ssize_t begin, Py_ssize_t end,
                     bint special, Cut cut, Filling filling):
    cdef Encoding encoding = Encoding.__new__(Encoding)
    cdef Text source = Text.__new__(Text)
    source.encoder, source.text, source.owner = encoder, text, values
    source.ids = <const uint32_t*>cnp.PyArray_DATA(values) + begin
    source.n = end - begin
    encoding.source, encoding.around = source, encoder.surroundings
    encoding.special, encoding.filling = special, filling
    encoding.end = source.n
    if cut is not None and source.n > cut.limit:
        encoding.cut = cut
        encoding.begin, encoding.end = cut.parts(source.n)[0]
    return encoding


cdef Encoding _piece(Encoding main, Py_ssize_t begin, Py_ssize_t end):
    """An overflowing part of a text."""
    cdef Encoding part = Encoding.__new__(Encoding)
    part.source, part.around = main.source, main.around
    part.special, part.filling, part.target = main.special, main.filling, main.target
    part.begin, part.end, part.is_part = begin, end, True
    return part


cdef Encoding _of_columns(tuple columns):
    cdef Encoding encoding = Encoding.__new__(Encoding)
    encoding.set_columns(columns)
    return encoding


cdef tuple _with_parts(tuple columns):
    return (*columns[:7], [_of_columns(_with_parts(part)) for part in columns[7]], columns[8])


cdef Encoding _ours(encoding):
    """A copy of an Encoding, ours or Hugging Face's."""
    cdef Encoding copied
    if isinstance(encoding, Encoding):
        return (<Encoding>encoding).duplicate()
    if not isinstance(encoding, tokenizers.Encoding):
        raise TypeError(f"'{type(encoding).__name__}' object is not an instance of 'Encoding'")
    copied = Encoding()
    copied.__setstate__(encoding.__getstate__())
    return copied


# --------------------------------------------------------------------- changes

cdef int _fill(Encoding encoding, target, Filling filling) except -1:
    """Fill up an Encoding and its overflowing parts."""
    cdef Encoding part
    cdef Py_ssize_t missing
    for part in encoding.overflow():
        _fill(part, target, filling)
    if target <= encoding.size():
        return 0
    missing = target - encoding.size()
    values = (filling.pad_id, filling.pad_type_id, None, -1, 0, 1, 0)
    ids, types, tokens, words, offsets, special, attention, parts, ranges = encoding.columns()
    padded = []
    for column, value in zip((ids, types, tokens, words, offsets, special, attention), values):
        if value is None:
            more = [filling.pad_token] * missing
            padded.append(more + column if filling.on_left else column + more)
        else:
            more = np.full((missing, *column.shape[1:]), value, dtype=column.dtype)
            padded.append(np.concatenate([more, column] if filling.on_left else [column, more]))
    if filling.on_left:
        ranges = {sequence: (begin + missing, end + missing)
                  for sequence, (begin, end) in ranges.items()}
    return encoding.set_columns((*padded, parts, ranges))


cdef int _merge_with(Encoding encoding, Encoding other, bint growing) except -1:
    """Put another behind an Encoding, and each of its parts with each of the other's."""
    cdef list parts = [], parts_of_one = encoding.overflow(), parts_of_other = other.overflow()
    cdef Encoding part
    for one in [*parts_of_one, encoding]:
        for two in [other, *parts_of_other] if one is not encoding else parts_of_other:
            part = (<Encoding>one).duplicate()
            _merge_with(part, (<Encoding>two).duplicate(), growing)
            parts.append(part)
    mine, theirs = encoding.columns(), other.columns()
    n = encoding.size()
    shift = int(mine[4][-1, 1]) if growing and n else 0
    columns = [mine[i] + theirs[i] if i == 2 else np.concatenate([mine[i], theirs[i]])
               for i in range(7)]
    columns[4] = np.concatenate([mine[4], theirs[4] + shift])
    ranges = dict(mine[8])
    ranges.update({sequence: (n + begin, n + end)
                   for sequence, (begin, end) in theirs[8].items()})
    return encoding.set_columns((*columns, parts, ranges))


# ------------------------------------------------------------------- arguments

cdef object _size(value):
    """An argument that is a size_t for Hugging Face."""
    number = operator.index(value)
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number >= 1 << 64:
        raise OverflowError("int too big to convert")
    return number


cdef object _word(value):
    """An argument that is a uint32 for Hugging Face."""
    number = operator.index(value)
    if number < 0:
        raise OverflowError("number too small to fit in target type")
    if number >= 1 << 32:
        raise OverflowError("number too large to fit in target type")
    return number


cdef int _check_str(value) except -1:
    if not isinstance(value, str):
        raise TypeError(f"'{type(value).__name__}' object is not an instance of 'str'")
    return 0


# ----------------------------------------------------------------------- lists

cdef list _as_list(cnp.ndarray column):
    cdef list items = PyList_New(column.shape[0])
    column = np.ascontiguousarray(column)
    fill_list(items, 0, <const uint32_t*>cnp.PyArray_DATA(column), column.shape[0])
    return items


cdef list _pairs(cnp.ndarray offsets):
    """list[tuple[int, int]]; tokens mostly begin where one ends, so that number is made once."""
    cdef Py_ssize_t i, n = offsets.shape[0]
    cdef const int64_t* data = <const int64_t*>cnp.PyArray_DATA(offsets)
    cdef list pairs = PyList_New(n)
    cdef object begin, end = 0
    cdef int64_t last = 0
    cdef tuple pair
    cdef bint collects = PyGC_Disable()     # which would look at each of the tuples
    try:
        for i in range(n):
            begin = end if data[2 * i] == last else data[2 * i]
            last = data[2 * i + 1]
            end = last
            pair = PyTuple_New(2)
            Py_INCREF(begin)
            PyTuple_SET_ITEM(pair, 0, begin)
            Py_INCREF(end)
            PyTuple_SET_ITEM(pair, 1, end)
            Py_INCREF(pair)
            PyList_SET_ITEM(pairs, i, pair)
    finally:
        if collects:
            PyGC_Enable()
    return pairs


cdef list _numbers(cnp.ndarray words):
    """list[int | None]; ids of one word share a number."""
    cdef Py_ssize_t i, n = words.shape[0]
    cdef const int64_t* data = <const int64_t*>cnp.PyArray_DATA(words)
    cdef list numbers = PyList_New(n)
    cdef object number = None
    cdef int64_t last = -1
    for i in range(n):
        if data[i] != last:
            last = data[i]
            number = None if last < 0 else last
        Py_INCREF(number)
        PyList_SET_ITEM(numbers, i, number)
    return numbers
