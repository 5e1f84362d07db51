r"""The rank files that are known: what they say themselves is only tokens and ranks.

The pattern and the special tokens of a tiktoken model stand in the code that comes with it. Here
are those of the public files, found by the SHA-256 of their content:

* the encodings that OpenAI publishes by name: ``tiktoken_ext/openai_public.py`` of tiktoken 0.14;
* Llama 3 and 4: ``llama_models/llama3/tokenizer.py`` and ``llama4/tokenizer.py`` of llama-models
  0.3.0;
* Qwen 1: ``tokenization_qwen.py`` of Qwen/Qwen-7B, and dashscope 2.0.2;
* GLM-4.5: zai-org/GLM-4.5;
* Kimi K2, K2.5, K2.6 and K3, which share their ranks: ``tokenization_kimi.py`` of
  moonshotai/Kimi-K2-Instruct; the names of the special tokens, which differ, are in the
  ``tokenizer_config.json`` of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["ENCODINGS", "RANKS", "KnownModel", "known_names"]

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_OTHERS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    rf"{_CONTRACTIONS}?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    rf"{_CONTRACTIONS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}|{_OTHERS}"
_QWEN = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}|{_OTHERS}"
_KIMI = (
    r"[\p{Han}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]+{_CONTRACTIONS}?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}|{_OTHERS}"
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What is known of the model that a rank file belongs to.

    Attributes:
        name: of the encoding, or of the model.
        sha256: of the rank file as published: a line for each token, in order of rank.
        pattern: in tiktoken's syntax.
        special_tokens: content → id. A ``tokenizer_config.json`` beside the file may name others.
        n_reserved: so many ids after the last rank are special; those without a name are called
            ``<|reserved_token_ID|>``.
        needs_config: ``tokenizer_config.json`` alone tells the special tokens.
        url: where tiktoken has it from, after which it names the file in its cache.
    """

    name: str
    sha256: str
    pattern: str
    special_tokens: Mapping[str, int]
    n_reserved: int = 0
    needs_config: bool = False
    url: str | None = None


def _numbered(first: int, contents: Iterable[str]) -> dict[str, int]:
    return {content: first + i for i, content in enumerate(contents)}


def _openai(
    name: str, file: str, sha256: str, pattern: str, special_tokens: dict[str, int]
) -> KnownModel:
    url = f"https://openaipublic.blob.core.windows.net/encodings/{file}.tiktoken"
    return KnownModel(name, sha256, pattern, special_tokens, url=url)


_R50K_SHA256 = "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
_P50K_SHA256 = "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
_CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
_O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")


def _harmony() -> dict[str, int]:
    named = {
        "<|startoftext|>": 199998,
        "<|endoftext|>": 199999,
        "<|return|>": 200002,
        "<|constrain|>": 200003,
        "<|channel|>": 200005,
        "<|start|>": 200006,
        "<|end|>": 200007,
        "<|message|>": 200008,
        "<|call|>": 200012,
        "<|endofprompt|>": 200018,
    }
    reserved = {
        f"<|reserved_{i}|>": i
        for i in range(200000, 201088)
        if i >= 200013 or i not in named.values()
    }
    return {**reserved, **named}  # of two with one id, decoding gives the last


def _llama3() -> tuple[str, ...]:
    return (
        *("<|begin_of_text|>", "<|end_of_text|>"),
        *("<|reserved_special_token_0|>", "<|reserved_special_token_1|>"),
        *("<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>"),
        *("<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>"),
        *(f"<|reserved_special_token_{i}|>" for i in range(2, 246)),
    )


def _llama4() -> tuple[str, ...]:
    def reserved(kind: str, first: int, last: int) -> list[str]:
        return [f"<|{kind}_reserved_special_token_{i}|>" for i in range(first, last + 1)]

    named = [
        *("<|begin_of_text|>", "<|end_of_text|>", *_FIM),
        *("<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"),
        *reserved("text_post_train", 0, 5),
        *("<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"),
        *reserved("text_post_train", 8, 68),
        *("<|image_start|>", "<|image_end|>"),
        *reserved("vision", 0, 1),
        *("<|tile_x_separator|>", "<|tile_y_separator|>"),
        *reserved("vision", 2, 5),
        "<|image|>",
        *reserved("vision", 6, 6),
        "<|patch|>",
        *reserved("vision", 7, 1047),
        *reserved("reasoning", 0, 7),
        *("<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"),
    ]
    return (*named, *(f"<|reserved_special_token_{i}|>" for i in range(2048 - len(named))))


_GLM45 = (
    *("<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>"),
    *("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"),
    *("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>"),
    *("<|begin_of_audio|>", "<|end_of_audio|>"),
    *("<|begin_of_transcription|>", "<|end_of_transcription|>"),
    *("<|code_prefix|>", "<|code_middle|>", "<|code_suffix|>", "<think>", "</think>"),
    *("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "/nothink"),
    *("<|begin_of_box|>", "<|end_of_box|>", "<|image|>", "<|video|>"),
)

ENCODINGS = {
    model.name: model
    for model in (
        _openai("r50k_base", "r50k_base", _R50K_SHA256, _GPT2, {"<|endoftext|>": 50256}),
        # tiktoken makes the same ranks of the files that came with GPT-2.
        _openai("gpt2", "r50k_base", _R50K_SHA256, _GPT2, {"<|endoftext|>": 50256}),
        _openai("p50k_base", "p50k_base", _P50K_SHA256, _GPT2, {"<|endoftext|>": 50256}),
        _openai(
            "p50k_edit",
            "p50k_base",
            _P50K_SHA256,
            _GPT2,
            {"<|endoftext|>": 50256, **_numbered(50281, _FIM)},
        ),
        _openai(
            "cl100k_base",
            "cl100k_base",
            _CL100K_SHA256,
            _CL100K,
            {**_numbered(100257, ("<|endoftext|>", *_FIM)), "<|endofprompt|>": 100276},
        ),
        _openai(
            "o200k_base",
            "o200k_base",
            _O200K_SHA256,
            _O200K,
            {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        ),
        _openai("o200k_harmony", "o200k_base", _O200K_SHA256, _O200K, _harmony()),
    )
}
"""The encodings that OpenAI publishes, by name. Of those with the same ranks the first counts for
a rank file without a name."""

_OTHER_MODELS = (
    KnownModel(
        "Llama 3",
        "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
        _LLAMA3,
        _numbered(128000, _llama3()),
    ),
    KnownModel(
        "Llama 4",
        "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
        _O200K,
        _numbered(200000, _llama4()),
    ),
    KnownModel(
        "Qwen 1",
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        _QWEN,
        _numbered(
            151643,
            (
                *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
                *(f"<|extra_{i}|>" for i in range(205)),
            ),
        ),
    ),
    KnownModel(
        "GLM-4.5",
        "5a493598071550244b2ee7f26118f3edec2150b9dfa967929a99052ac83fe716",
        _LLAMA3,
        _numbered(151329, _GLM45),
    ),
    KnownModel(
        "Kimi K2 and K3",
        "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103",
        _KIMI,
        {},
        n_reserved=256,
        needs_config=True,
    ),
)

RANKS: dict[str, KnownModel] = {}
"""The models by the SHA-256 of their rank file."""
for _model in (*ENCODINGS.values(), *_OTHER_MODELS):
    RANKS.setdefault(_model.sha256, _model)


def known_names() -> str:
    """The models, for a message."""
    return ", ".join((*ENCODINGS, *(model.name for model in _OTHER_MODELS)))
