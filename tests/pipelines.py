"""Random tokenizer.json files of every kind that BPE models come in, and texts for them.

A file is drawn by family (`FAMILIES`), so that sections often fit each other as in published
files, or wildly, so that they do not. Letters are few, which makes merges overlap; texts mix them
with the added tokens, parts of them, and anything that Unicode has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

from synthetic import BYTES, SENTENCES, Model, byte_alphabet

__all__ = ["features", "random_file", "random_texts", "steps_of"]

LETTERS = "abcAeé 1.,\u2581中🙂"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
SPACES = [" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u0085", "\u2028", "\u3000", "\u200b", "\x1c"]
PARTS = [
    *("\u2581", "\u2581\u2581a", "'s", "'S", "'ll", "don't", "12", "3.50", "²½", "٣", "_", "#"),
    *("\0", "\x01", "\x7f", "\ufeff", "\ufffd", "\u200d", "\ufe0f", "\U0010ffff", "\ue000"),
    *("é", "e\u0301", "\u0301", "\u0327\u0301", "a\u0301\u0327", "Å", "ﬁ", "ſ", "İ", "ß", "ǅ"),
    *("中文", "日本語", "한국", "\u1112\u1161\u11ab", "ไทย", "नमस्ते", "שלום", "🙂🙂", "½", "①"),
    *("<0x41>", "<0x0A>", "<", ">", "</s", "<s", "[", "##", "</w>", "Ġ", "Ċ", "č"),
]
MARKS = [
    *(("", "</w>"), ("##", ""), ("##", ""), ("##", "</w>"), ("", "_"), ("#", "")),
    *(("_", "</w>"), ("#", "#"), ("a", ""), ("<", "</w>"), ("é", "中")),
]
REGEXES = [
    r"\s+",
    r"\d{1,3}",
    "a+|b",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "[一-鿿]+",
    r"(?i:b)|\p{P}",
]
STRINGS = [" ", "\u2581", "a", "ab", "\n", "e\u0301", ".", "", "🙂"]
BEHAVIORS = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
CONTENTS = [
    *("<s>", "</s>", "<unk>", "<|x|>", "<|x|>y", "<pad>", "\n", " ", "  ", "\u2581", "\u2581a"),
    *("ab", "a", "A", "é", "e\u0301", "É", "č", "中", "1", "a b", " a", "b ", "<0x41>", "ﬁ", "🙂"),
]


# ----------------------------------------------------------------------------------- whole files


def random_file(choose: Random) -> Model:
    """A file that Hugging Face loads, or nearly always does."""
    return choose.choice(FAMILIES)(choose)


def _file(choose: Random, model: Model, **sections: Any) -> Model:
    """A file with what all families share drawn at random."""
    return {
        "version": "1.0",
        "truncation": _truncation(choose) if choose.random() < 0.1 else None,
        "padding": _padding(choose) if choose.random() < 0.1 else None,
        "added_tokens": _added_tokens(choose, model),
        "post_processor": _post_processor(choose) if choose.random() < 0.4 else None,
        **sections,
        "model": model,
    }


def byte_level_file(choose: Random) -> Model:
    """GPT-2 and what came after it."""
    steps = [_byte_level(choose, prefix=choose.random() < 0.2)]
    if choose.random() < 0.5:
        steps[0]["use_regex"] = False
        steps = [*_some(choose, SPLITTERS, 3), *steps]
    normalizers = [_plain("NFC")(choose)] if choose.random() < 0.2 else []
    if choose.random() < 0.3:
        normalizers = _some(choose, NORMALIZERS, 2)
    return _file(
        choose,
        _byte_level_model(choose),
        normalizer=_section(choose, "normalizers", normalizers),
        pre_tokenizer=_section(choose, "pretokenizers", steps),
        decoder=_byte_level(choose),
    )


def sentencepiece_file(choose: Random) -> Model:
    """Llama-2, Mistral, Gemma: spaces as U+2581, no split or one at spaces."""
    replace: Model = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    prepend: Model = {"type": "Prepend", "prepend": "\u2581"}
    split = _split(choose, {"String": choose.choice([" ", "\u2581"])})
    shapes: list[tuple[list[Model], list[Model]]] = [
        ([prepend, replace], []),
        ([replace], []),
        ([replace], [split]),
        ([], [_metaspace(choose)]),
    ]
    normalizers, pre_tokenizers = choose.choice(shapes)
    normalizers = [*_some(choose, NORMALIZERS, 1, 0.2), *normalizers]
    back: Model = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    strip: Model = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    fallback: list[Model] = [{"type": "ByteFallback"}, {"type": "Fuse"}]
    decoders = choose.choice([[back, *fallback, strip], [back, *fallback], [_metaspace(choose)]])
    return _file(
        choose,
        _character_model(choose, words=choose.random() < 0.6),
        normalizer=_section(choose, "normalizers", normalizers),
        pre_tokenizer=_section(choose, "pretokenizers", pre_tokenizers),
        decoder=_section(choose, "decoders", decoders),
    )


def suffix_file(choose: Random) -> Model:
    """CLIP and the like: words with a mark at their end, or inside."""
    prefix, suffix = choose.choice(MARKS)
    decoder: Model = {"type": "BPEDecoder", "suffix": suffix or "</w>"}
    if prefix and choose.random() < 0.5:
        decoder = {"type": "WordPiece", "prefix": prefix, "cleanup": choose.random() < 0.5}
    return _file(
        choose,
        _character_model(choose, prefix=prefix, suffix=suffix),
        normalizer=_section(choose, "normalizers", _some(choose, NORMALIZERS, 3, 0.5)),
        pre_tokenizer=_section(choose, "pretokenizers", _some(choose, SPLITTERS, 3, 0.9)),
        decoder=decoder if choose.random() < 0.7 else _decoder(choose),
    )


def clip_file(choose: Random) -> Model:
    """Byte-level with a mark at the end of words, or on what does not begin them."""
    file = byte_level_file(choose)
    prefix, suffix = ("", "</w>") if choose.random() < 0.5 else choose.choice(MARKS)
    file["model"] = _byte_level_model(choose, prefix=prefix, suffix=suffix)
    return file


def wild_file(choose: Random) -> Model:
    """Sections that know nothing of each other."""
    byte_level = choose.random() < 0.5
    model = _byte_level_model(choose) if byte_level else _character_model(choose)
    steps = _some(choose, [*SPLITTERS, *OTHER_STEPS], 3, 0.8)
    return _file(
        choose,
        model,
        normalizer=_section(choose, "normalizers", _some(choose, NORMALIZERS, 4, 0.6)),
        pre_tokenizer=_section(choose, "pretokenizers", steps),
        decoder=_decoder(choose),
    )


FAMILIES: list[Callable[[Random], Model]] = [
    byte_level_file,
    byte_level_file,
    sentencepiece_file,
    sentencepiece_file,
    suffix_file,
    clip_file,
    wild_file,
]


def _some(
    choose: Random, makers: list[Callable[[Random], Model]], most: int, chance: float = 0.7
) -> list[Model]:
    """No step, or some, each drawn by one of the makers."""
    n = choose.randint(1, most) if choose.random() < chance else 0
    return [choose.choice(makers)(choose) for _ in range(n)]


def _section(choose: Random, list_name: str, steps: list[Model]) -> Model | None:
    """The steps as a section: null, a step, a Sequence or one Sequence within another."""
    if not steps and choose.random() < 0.9:
        return None
    if len(steps) == 1 and choose.random() < 0.7:
        return steps[0]
    if len(steps) > 2 and choose.random() < 0.2:
        steps = [{"type": "Sequence", list_name: steps[:2]}, *steps[2:]]
    return {"type": "Sequence", list_name: steps}


# ---------------------------------------------------------------------------------------- models


def _byte_level_model(choose: Random, *, prefix: str = "", suffix: str = "") -> Model:
    letters = [c for c in BYTES if choose.random() < 0.999] if choose.random() < 0.1 else BYTES
    alphabet = byte_alphabet()
    shown = ["".join(alphabet[byte] for byte in letter.encode()) for letter in LETTERS]
    return _model(
        choose, letters, [c for word in shown for c in word], prefix=prefix, suffix=suffix
    )


def _character_model(
    choose: Random, *, words: bool = False, prefix: str = "", suffix: str = ""
) -> Model:
    letters = [c for c in LETTERS + "dſʼ文\u0301" if choose.random() < 0.85]
    return _model(choose, letters, letters, words=words, prefix=prefix, suffix=suffix)


def _model(
    choose: Random,
    letters: list[str],
    merging: list[str],
    *,
    words: bool = False,
    prefix: str = "",
    suffix: str = "",
) -> Model:
    """A model whose merges begin with the letters in ``merging``."""
    marked = 1 if choose.random() < 0.7 else 0.9  # how many letters have forms with the marks
    tokens = [*letters, *(c + suffix for c in letters if suffix and choose.random() < marked)]
    tokens += [prefix + token for token in tokens if prefix and choose.random() < marked]
    usual = [t for t in tokens if t.removeprefix(prefix).removesuffix(suffix) in merging]
    bytes_of = BYTE_TOKENS if letters is not BYTES and choose.random() < 0.6 else []
    if choose.random() < 0.15:
        bytes_of = [token for token in bytes_of if choose.random() < 0.9]
    if choose.random() < 0.1:
        usual += bytes_of[0x80:0x90]
    merges = _merges(choose, usual or ["a"], words, prefix, suffix)
    made = [left + right[len(prefix) :] for left, right in merges]
    controls = choose.sample(["<unk>", "<s>", "</s>", "<pad>", "\u2581\u2581", "a b", "ab"], 3)
    order = [
        *dict.fromkeys([*controls, *bytes_of, *tokens, *(t for m in merges for t in m), *made])
    ]
    shape = choose.random()
    if shape < 0.1:
        choose.shuffle(order)
    ids = list(range(len(order)))
    if shape > 0.93:
        ids = sorted(choose.sample(range(2 * len(order)), len(order)))
    unknown = choose.choice(["<unk>", "<unk>", "a", "nowhere"]) if choose.random() < 0.5 else None
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": prefix or choose.choice([None, None, ""]),
        "end_of_word_suffix": suffix or choose.choice([None, None, ""]),
        "fuse_unk": choose.random() < 0.5,
        "byte_fallback": choose.random() < (0.8 if bytes_of else 0.1),
        "ignore_merges": choose.random() < 0.25,
        "vocab": dict(zip(order, ids, strict=True)),
        "merges": [list(merge) for merge in merges],
    }


def _merges(
    choose: Random, tokens: list[str], words: bool, prefix: str, suffix: str
) -> list[list[str]]:
    """Merges of tokens made before; with ``words``, U+2581 only begins a token, or is all of it."""
    wild = choose.random() < 0.1  # else nothing stands behind the end of a word
    tokens = list(tokens)
    merges: list[list[str]] = []
    for _ in range(choose.choice([0, 3, 10, 40, 80])):
        left, right = choose.choice(tokens), choose.choice(tokens)
        made = left + right[len(prefix) :]
        inside = made.lstrip("\u2581")
        if (words and "\u2581" in inside) or len(made) > 14 or not right.startswith(prefix):
            continue
        if suffix and not wild and (left.endswith(suffix) or suffix in left + made[:-1]):
            continue
        if [left, right] not in merges or choose.random() < 0.1:
            merges.append([left, right])
            tokens.append(made)
    return merges


def _added_tokens(choose: Random, model: Model) -> list[Model]:
    n = choose.choice([0, 0, 1, 2, 4, 8])
    pool = [*CONTENTS, *choose.sample(list(model["vocab"]), min(6, len(model["vocab"])))]
    plain = choose.random() < 0.4
    tokens: list[Model] = []
    for content in [choose.choice(pool) for _ in range(n)]:
        if choose.random() < 0.02:
            content = ""
        flags = {
            name: not plain and choose.random() < 0.25
            for name in ("single_word", "lstrip", "rstrip", "normalized")
        }
        token_id = model["vocab"].get(content, len(model["vocab"]) + len(tokens))
        special = choose.random() < 0.6
        tokens.append({"id": token_id, "content": content, **flags, "special": special})
    return tokens if choose.random() < 0.1 else list({t["content"]: t for t in tokens}.values())


# ----------------------------------------------------------------------------------------- steps


def _byte_level(choose: Random, prefix: bool | None = None) -> Model:
    return {
        "type": "ByteLevel",
        "add_prefix_space": choose.random() < 0.3 if prefix is None else prefix,
        "trim_offsets": choose.random() < 0.5,
        "use_regex": choose.random() < 0.7,
    }


def _metaspace(choose: Random) -> Model:
    return {
        "type": "Metaspace",
        "replacement": "\u2581" if choose.random() < 0.95 else "_",
        "prepend_scheme": choose.choice(["always", "first", "never"]),
        "split": choose.random() < 0.5,
    }


def _split(choose: Random, pattern: Model | None = None) -> Model:
    if pattern is None:
        kind = choose.choice(["Regex", "Regex", "String"])
        pattern = {kind: choose.choice(REGEXES if kind == "Regex" else STRINGS)}
    behavior = choose.choice(BEHAVIORS)
    return {
        "type": "Split",
        "pattern": pattern,
        "behavior": behavior,
        "invert": choose.random() < 0.2,
    }


def _replace(choose: Random) -> Model:
    kind = choose.choice(["String", "String", "Regex"])
    pattern = {kind: choose.choice(STRINGS if kind == "String" else [r"\s+", "a+", "[bc]", "^a"])}
    content = choose.choice(["", " ", "\u2581", "b", "é\u0301", "xyz", "\n"])
    return {"type": "Replace", "pattern": pattern, "content": content}


def _strip(choose: Random) -> Model:
    return {
        "type": "Strip",
        "strip_left": choose.random() < 0.5,
        "strip_right": choose.random() < 0.5,
    }


def _plain(kind: str) -> Callable[[Random], Model]:
    return lambda choose: {"type": kind}


NORMALIZERS: list[Callable[[Random], Model]] = [
    *map(_plain, ("NFC", "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")),
    lambda choose: {"type": "Prepend", "prepend": choose.choice(["\u2581", " ", "ab"])},
    _strip,
    _replace,
    _replace,
]
SPLITTERS: list[Callable[[Random], Model]] = [
    _split,
    _split,
    lambda choose: {"type": "Digits", "individual_digits": choose.random() < 0.5},
    lambda choose: {"type": "Punctuation", "behavior": choose.choice(BEHAVIORS)},
    *map(_plain, ("Whitespace", "WhitespaceSplit")),
    lambda choose: {"type": "CharDelimiterSplit", "delimiter": choose.choice(" a.中")},
    _metaspace,
]
OTHER_STEPS: list[Callable[[Random], Model]] = [
    _byte_level,
    *map(_plain, ("BertPreTokenizer", "UnicodeScripts")),
]
DECODERS: list[Callable[[Random], Model]] = [
    lambda choose: {
        "type": "Replace",
        "pattern": {"String": choose.choice(STRINGS)},
        "content": choose.choice([" ", "", "xy"]),
    },
    *map(_plain, ("ByteFallback", "Fuse")),
    lambda choose: {
        "type": "Strip",
        "content": choose.choice(" a\u2581"),
        "start": choose.randint(0, 2),
        "stop": choose.choice([0, 0, 0, 1]),
    },
    _metaspace,
    _byte_level,
    lambda choose: {"type": "BPEDecoder", "suffix": choose.choice(["</w>", "_", "a"])},
    lambda choose: {"type": "WordPiece", "prefix": "##", "cleanup": choose.random() < 0.5},
]


def _decoder(choose: Random) -> Model | None:
    return _section(choose, "decoders", _some(choose, DECODERS, 4, 0.9))


def _post_processor(choose: Random) -> Model:
    byte_level = _byte_level(choose)
    text = {"Sequence": {"id": "A", "type_id": 0}}
    second = {"Sequence": {"id": "B", "type_id": 1}}
    start, end = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>"))
    template = {
        "type": "TemplateProcessing",
        "single": choose.choice([[start, text, end], [start, text], [text, end], [text]]),
        "pair": [text, second],
        "special_tokens": {
            "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
            "</s>": {"id": "</s>", "ids": [2, 3], "tokens": ["</s>", "x"]},
        },
    }
    bert = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
    roberta = {
        **bert,
        "type": "RobertaProcessing",
        "trim_offsets": choose.random() < 0.5,
        "add_prefix_space": choose.random() < 0.5,
    }
    both = {"type": "Sequence", "processors": [byte_level, template]}
    return choose.choice([byte_level, template, template, both, bert, roberta])


def _truncation(choose: Random) -> Model:
    return {
        "direction": choose.choice(["Right", "Left"]),
        "max_length": choose.choice([0, 1, 2, 3, 5, 8, 20]),
        "strategy": choose.choice(["LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond"]),
        "stride": choose.choice([0, 0, 0, 1, 4]),
    }


def _padding(choose: Random) -> Model:
    return {
        "strategy": choose.choice(["BatchLongest", {"Fixed": choose.choice([0, 1, 7, 20])}]),
        "direction": choose.choice(["Right", "Left"]),
        "pad_to_multiple_of": choose.choice([None, 0, 1, 3, 8]),
        "pad_id": choose.choice([0, 2, 300, 2**32 - 1]),
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }


# ----------------------------------------------------------------------------------------- texts


def random_texts(choose: Random, file: Model, n: int) -> list[str]:
    """Texts for a file: some short, a few of hundreds of parts, a few of one part repeated."""
    added = [token["content"] for token in file["added_tokens"] if token["content"]]
    parts = [*LETTERS * 4, *SPACES, *PARTS, *SENTENCES]
    parts += 6 * [around for content in added for around in _around(content)]
    words = choose.sample(list(file["model"]["vocab"]), min(30, len(file["model"]["vocab"])))
    parts += [word.replace("Ġ", " ").removesuffix("</w>") for word in words]
    parts += [
        chr(code) for code in choose.sample(range(0x110000), 30) if not 0xD800 <= code < 0xE000
    ]
    texts = [""]
    for _ in range(n - 1):
        kind = choose.random()
        if kind < 0.03:
            text = choose.choice(parts) * choose.choice([17, 64, 300])
        else:
            few = choose.sample(parts, 4) if choose.random() < 0.3 else parts
            length = choose.randint(50, 400) if kind > 0.98 else choose.choice([1, 2, 4, 8, 16])
            text = "".join(choose.choice(few) for _ in range(length))
        texts.append(text)
    return texts


def _around(content: str) -> Iterable[str]:
    """The content of an added token and what is nearly that."""
    yield from (content, content, f" {content} ", f"a{content}b", content * 2)
    yield from (content[:-1], content[1:], content.upper(), f"{content}\n", f"\u2581{content}")


# ------------------------------------------------------------------------------------ what is in


def features(file: Model) -> set[str]:
    """What a file has, by the names of the table of floors."""
    found = set()
    for section in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        kinds = [step["type"] for step in steps_of(file[section])]
        found |= {f"{section} {kind}" for kind in kinds or ["none"]}
    found |= {section for section in ("truncation", "padding") if file[section] is not None}
    model = file["model"]
    flags = ("fuse_unk", "byte_fallback", "ignore_merges", "unk_token")
    marks = ("continuing_subword_prefix", "end_of_word_suffix")
    found |= {f"model {name}" for name in (*flags, *marks) if model[name]}
    found.add("model of bytes" if "pre_tokenizer ByteLevel" in found else "model of characters")
    for token in file["added_tokens"]:
        names = ("single_word", "lstrip", "rstrip", "normalized", "special")
        found |= {f"added {name}" for name in names if token[name]}
    contents = [token["content"] for token in file["added_tokens"]]
    if len(contents) > len(set(contents)):
        found.add("added twice")
    return found


def steps_of(section: Model | None) -> Iterator[Model]:
    """The steps of a section, those of a Sequence one by one."""
    if section is None:
        return
    if section["type"] != "Sequence":
        yield section
        return
    (steps,) = (value for value in section.values() if isinstance(value, list))
    for step in steps:
        yield from steps_of(step)
