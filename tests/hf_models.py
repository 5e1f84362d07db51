"""Small models of every make for the tests of the patch, and the texts that are hard on them."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hf_surface import outcome, ready
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

ADDED = (
    AddedToken("<s>", special=True),
    AddedToken("</s>", special=True),
    AddedToken("<pad>", special=True),
    AddedToken("<|im_start|>", special=True),
    AddedToken("<tool>", special=False, normalized=False),
    AddedToken("<left>", lstrip=True, special=True),
    AddedToken("<right>", rstrip=True, special=True),
    AddedToken("Word", single_word=True, special=False, normalized=True),
    AddedToken("Größe", special=False, normalized=True),
)
#: As GPT-4 splits, in words of our own tests: letters, digits in threes, marks, spaces.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _byte_level() -> Tokenizer:
    return synthetic.load(synthetic.trained_model())


def _with_template(tokenizer: Tokenizer, single: str, pair: str) -> Tokenizer:
    tokenizer.add_tokens(list(ADDED))
    ids = {token.content: tokenizer.token_to_id(token.content) for token in ADDED}
    special = [(name, ids[name]) for name in ("<s>", "</s>")]
    template = processors.TemplateProcessing(single=single, pair=pair, special_tokens=special)
    tokenizer.post_processor = (
        template
        if tokenizer.post_processor is None
        else processors.Sequence([tokenizer.post_processor, template])
    )
    return tokenizer


def _start() -> Tokenizer:
    return _with_template(_byte_level(), "<s> $A", "<s> $A <s> $B:1")


def _both_ends() -> Tokenizer:
    tokenizer = _byte_level()
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return _with_template(tokenizer, "<s>:0 <s>:1 $A:1 </s>:0", "<s> $A </s> $B:1 </s>:1")


def _roberta() -> Tokenizer:
    tokenizer = _byte_level()
    tokenizer.add_tokens(list(ADDED))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    ends: list[Any] = [(name, tokenizer.token_to_id(name)) for name in ("</s>", "<s>")]
    tokenizer.post_processor = processors.RobertaProcessing(*ends)
    return tokenizer


def _bare() -> Tokenizer:
    """No post-processor, no decoder, no added token."""
    tokenizer = _byte_level()
    tokenizer.decoder = None
    return tokenizer


def _trained(tokenizer: Tokenizer, trainer: Any) -> Tokenizer:
    tokenizer.train_from_iterator(synthetic.SENTENCES * 3, trainer)
    return tokenizer


@functools.cache
def _llama_json() -> str:
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=names, show_progress=False)
    return _without_added(_trained(tokenizer, trainer))


def _llama() -> Tokenizer:
    return _with_template(Tokenizer.from_str(_llama_json()), "<s> $A", "<s> $A <s> $B")


def _metaspace() -> Tokenizer:
    tokenizer = Tokenizer.from_str(_llama_json())
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return _with_template(tokenizer, "$A </s>", "$A </s> $B:1 </s>:1")


@functools.cache
def _clip_json() -> str:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<unk>", *(f"{byte}</w>" for byte in synthetic.BYTES)],
        initial_alphabet=synthetic.BYTES,
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    return _without_added(_trained(tokenizer, trainer))


def _suffix() -> Tokenizer:
    """As CLIP: words in lower case, each with a suffix at its end."""
    template = "<s> $A </s>", "<s> $A </s> $B </s>"
    return _with_template(Tokenizer.from_str(_clip_json()), *template)


def _without_added(tokenizer: Tokenizer) -> str:
    """The JSON without the tokens that training has added, but for the first one."""
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = content["added_tokens"][:1]
    return json.dumps(content)


def _word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=400, special_tokens=["<unk>"], show_progress=False
    )
    return _with_template(_trained(tokenizer, trainer), "<s> $A </s>", "<s> $A </s> $B:1 </s>:1")


def _cutting() -> Tokenizer:
    """Truncation and padding are in the file."""
    tokenizer = _start()
    tokenizer.enable_truncation(9, stride=2, direction="left")
    tokenizer.enable_padding(pad_id=tokenizer.token_to_id("<pad>"), pad_token="<pad>", length=12)
    return tokenizer


MAKERS: dict[str, Callable[[], Tokenizer]] = {
    "start": _start,
    "both ends": _both_ends,
    "roberta": _roberta,
    "bare": _bare,
    "llama": _llama,
    "metaspace": _metaspace,
    "suffix": _suffix,
    "word piece": _word_piece,
    "cutting": _cutting,
}
#: All that the patch may hand to tokcy; the rest shows that what it delegates is right.
NATIVE = tuple(name for name in MAKERS if name != "word piece")

#: Of each kind one: byte-level, SentencePiece's, not native. The others are for sweeps.
SMALL = ("both ends", "llama", "word piece")
SMALL_AND_SWEEP: list[Any] = [
    name if name in SMALL else pytest.param(name, marks=pytest.mark.sweep) for name in MAKERS
]


@functools.cache
def _json_of(name: str) -> str:
    return MAKERS[name]().to_str()


def small(name: str) -> Tokenizer:
    """A new object of that model, ready to encode natively where it is patched."""
    made: Tokenizer = ready(Tokenizer.from_str(_json_of(name)))
    return made


TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}</s>{% endgeneration %}"
    "{% else %}{{ m.content }}</s>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MESSAGES = [
    {"role": "user", "content": "Hello <s> there"},
    {"role": "assistant", "content": "Größe 👩‍👩‍👧  x"},
    {"role": "user", "content": "e\u0301 Word"},
]


def fast(name: str, **options: Any) -> Any:
    """The model in a tokenizer of ``transformers``, which has to be installed."""
    import transformers

    special = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    options = {**special, "chat_template": TEMPLATE, **options}
    return ready(transformers.PreTrainedTokenizerFast(tokenizer_object=small(name), **options))


def load_fast(folder: Path) -> Any:
    """The tokenizer of that folder as ``transformers`` loads it, with a token to pad with."""
    import transformers

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except (ValueError, OSError):  # its own code would be needed
        tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(str(folder))
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    return tokenizer


HARD = (
    "",
    " ",
    "   ",
    "\n",
    "\r\n\r\n \t ",
    "\0",
    "a\0b",
    "a",
    "Hello, world!",
    "  two  spaces  ",
    "We'll see: I'm, you're, DON'T",
    "12345 6 78,90",
    "e\u0301e\u0301 \u0301 \u0327\u0301a",
    "Größe Größe",
    "한국어 \u1112\u1161\u11ab",
    "👩‍👩‍👧🙂\ufe0f 🇩🇪",
    "\ufeffBOM \u200b\u200d\u2028\u2029\u0085",
    "\ufffd\uffff\U0010ffff\ue000",
    "नमस्ते สวัสดี 分词器 مرحبا",
    "x" * 300,
    " " * 70 + "end",
    "\u3000wide\u00a0no-break",
    "▁under▁score ▁",
    "<0x41> Ġhello Ċ </w>",
    "def f(x):\n\treturn x  # none\n\n",
)


#: Words that nobody has encoded before; no digits, as some models take each for a word.
NEW = [
    "Jazzy",
    "quartz vexes",
    "öffnen",
    "Zürich",
    "fünf Löwen",
    "Vögel",
    "<s> Wolf",
    "γράμμα",
    "Ähre",
]
TEXTS = [*HARD, "a <s> b <new>x<new> Word ", "<|x|>é<tool>\u0301"]


def look(tokenizer: Tokenizer, texts: list[str] = TEXTS) -> Any:
    """What a tokenizer makes of texts, and of ids, at this moment."""
    ready(tokenizer)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts[:6])]
    return (
        [outcome(tokenizer.encode, text) for text in texts[4:18:2]],
        [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)],
        [outcome(tokenizer.encode, texts[8], texts[-1])],
        tokenizer.decode_batch(ids, skip_special_tokens=False),
        outcome(tokenizer.decode, [2, 7, 5, 300, 1]),
    )


def hard_texts(tokens: list[str]) -> list[str]:
    """HARD texts, and texts around some added tokens: glued, spaced, cut short, in words."""
    around = []
    for token in tokens:
        around += [token, f" {token} ", f"a{token}b", f"x  {token}\n{token}{token} y"]
        around += [token[:-1], f"{token[1:]}{token}", token.upper(), f"é{token}\u0301"]
    return [*HARD, *around]


def random_text(choose: random.Random, tokens: list[str], excerpts: list[str]) -> str:
    """Some pieces of hard texts, added tokens, real texts and any characters, glued together."""
    pieces = []
    for _ in range(choose.choice((0, 1, 1, 2, 3, 5, 8))):
        match choose.randrange(6):
            case 0:
                pieces.append(choose.choice(HARD)[:40])
            case 1 if tokens:
                pieces.append(choose.choice(tokens))
            case 2:
                pieces.append("".join(map(_character, [choose] * choose.randint(1, 8))))
            case 3:
                pieces.append(choose.choice((" ", "  ", "\n", "\t", " \n ", "")))
            case _:
                text = choose.choice(excerpts)
                begin = choose.randrange(max(1, len(text) - 60))
                pieces.append(text[begin : begin + choose.randint(1, 60)])
    return "".join(pieces)


def _character(choose: random.Random) -> str:
    limit = choose.choice((0x80, 0x800, 0x3000, 0x10000, 0x110000))
    code = choose.randrange(limit)
    return chr(code) if not 0xD800 <= code < 0xE000 else " "
