"""The whitelist: which model files run natively, and everything the engine needs to run them.

A file is planned only if its exact pipeline is known to give Hugging Face's ids, offsets and text.
Anything else is :class:`Unsupported`, with the reason, and goes to the Hugging Face object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError

from .model import AddedToken, BpeModel, Padding, TokenizerSpec, Truncation
from .normalizing import normalizer_of
from .plan_decode import DecoderPlan, UnplannableDecoderError, plan_decoder
from .plan_model import (
    UnplannableModelError,
    plan_borders,
    plan_vocabulary,
    spelled_vocabulary,
)
from .plan_text import TextPlan, UnplannableTextError, plan_text
from .steps import (
    BertProcessing,
    ByteLevel,
    DecoderStep,
    NormalForm,
    NormalizerStep,
    Other,
    PostProcessorStep,
    RobertaProcessing,
    TemplateProcessing,
    TextPiece,
)

__all__ = [
    "NativePlan",
    "PostProcessor",
    "Unsupported",
    "largest_added_id",
    "may_meet_unknown",
    "plan_native",
]

_ALWAYS_ALLOWED_ID = 2**20 - 1


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why a model file does not run natively.

    Attributes:
        reason: a sentence fragment for the user, such as ``"decoder WordPiece is not supported"``.
        problem: the error to raise if Hugging Face refuses the file too, where there is a better
            one than Hugging Face's own.
    """

    reason: str
    problem: ModelFileError | None = None


@dataclass(frozen=True, slots=True)
class PostProcessor:
    """What happens to the ids and offsets of a single text.

    Attributes:
        prefix_ids, suffix_ids: ids put around the text's when special tokens are asked for.
        trim_offsets: offsets leave out a token's spaces (rule O3), special tokens or not.
        add_prefix_space: the first token keeps one leading space in its offsets.
    """

    prefix_ids: tuple[int, ...] = ()
    suffix_ids: tuple[int, ...] = ()
    trim_offsets: bool = False
    add_prefix_space: bool = False


@dataclass(frozen=True, slots=True)
class NativePlan:
    """A BPE pipeline, ready for the engine.

    Attributes:
        vocabulary: entries and merges in the model's alphabet; ids are dense and distinct.
        ignore_merges: a piece that is a token gets its id without merging (rule M7).
        added_tokens: with the ids in force, contents distinct and not empty.
        token_forms: (id, text) of the added tokens that are shown in normalized form (rule D2),
            where that is not their content.
        text: the way of a text up to the model.
        post_processor: what is done to a single text's ids and offsets.
        decoder: how ids become text.
        truncation, padding: what is done to their number.
    """

    vocabulary: Vocabulary
    ignore_merges: bool
    added_tokens: tuple[AddedToken, ...]
    token_forms: tuple[tuple[int, str], ...]
    text: TextPlan
    post_processor: PostProcessor
    decoder: DecoderPlan
    truncation: Truncation | None = None
    padding: Padding | None = None


class _Unplannable(Exception):
    def __init__(self, reason: str, problem: ModelFileError | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.problem = problem


def plan_native(spec: TokenizerSpec) -> NativePlan | Unsupported:
    """The plan for ``spec``, or the reason why there is none.

    Raises:
        ModelFileError: a merge names a token that the vocabulary lacks.
    """
    try:
        return _plan(spec)
    except _Unplannable as refusal:
        return Unsupported(refusal.reason, refusal.problem)


def may_meet_unknown(spec: TokenizerSpec) -> bool:
    """Whether something of a text may be what the model has no entry for, native or not."""
    model = spec.model
    if isinstance(model, Other):
        return True
    try:
        text = _plan_text(spec)
        byte_level, folded = text.byte_level, text.folded
    except _Unplannable:
        byte_level, folded = any(isinstance(s, ByteLevel) for s in spec.pre_tokenizer), False
    return not spelled_vocabulary(model, byte_level=byte_level, folded=folded).is_complete()


def largest_added_id(vocabulary: Vocabulary, n_added: int) -> int:
    """The largest id that one of ``n_added`` tokens may have, as an array is indexed by id."""
    return max(_ALWAYS_ALLOWED_ID, vocabulary.max_id + n_added)


def _plan(spec: TokenizerSpec) -> NativePlan:
    model = spec.model
    if isinstance(model, Other):
        raise _other("model", model)
    text = _plan_text(spec)
    vocabulary = _plan_vocabulary(model, text)
    post_processor = _plan_post_processor(spec.post_processor)
    if post_processor.trim_offsets and not text.byte_level:
        raise _Unplannable("trimming offsets without ByteLevel is not supported natively")
    decoder = _plan_decoder(spec.decoder)
    if isinstance(spec.truncation, Other):
        raise _other("truncation", spec.truncation)
    if isinstance(spec.padding, Other):
        raise _other("padding", spec.padding)
    splits = plan_borders(text.splits, vocabulary, model.ignore_merges)
    added_tokens = _plan_added_tokens(spec.added_tokens, vocabulary)
    token_forms = _plan_token_forms(added_tokens, spec.normalizer)
    if post_processor.trim_offsets:
        _check_trimming(added_tokens, dict(token_forms), spec.normalizer)
    if model.problem is not None:
        raise model.problem
    return NativePlan(
        vocabulary=vocabulary,
        ignore_merges=model.ignore_merges,
        added_tokens=added_tokens,
        token_forms=token_forms,
        text=replace(text, splits=splits),
        post_processor=post_processor,
        decoder=decoder,
        truncation=spec.truncation,
        padding=spec.padding,
    )


def _other(section: str, step: Other) -> _Unplannable:
    named = f"{section} {step.kind}" if step.kind else f"{section} without a type"
    if section == "model" and not step.kind:
        named += " that is no BPE"
    return _Unplannable(f"{named} is not supported natively", step.problem)


def _plan_decoder(decoder: tuple[DecoderStep, ...] | None) -> DecoderPlan:
    for step in decoder or ():
        if isinstance(step, Other):
            raise _other("decoder", step)
    try:
        return plan_decoder(decoder)
    except UnplannableDecoderError as refusal:
        raise _Unplannable(f"decoder {refusal} is not supported natively") from refusal


def _plan_text(spec: TokenizerSpec) -> TextPlan:
    for section, steps in (
        ("normalizer", spec.normalizer),
        ("pre-tokenizer", spec.pre_tokenizer),
    ):
        for step in steps:
            if isinstance(step, Other):
                raise _other(section, step)
    try:
        return plan_text(spec.normalizer, spec.pre_tokenizer, spec.added_tokens)
    except UnplannableTextError as refusal:
        raise _Unplannable(str(refusal)) from refusal


def _plan_vocabulary(model: BpeModel, text: TextPlan) -> Vocabulary:
    try:
        return plan_vocabulary(model, byte_level=text.byte_level, folded=text.folded)
    except UnplannableModelError as refusal:
        raise _Unplannable(str(refusal)) from refusal


def _plan_added_tokens(
    declared: tuple[AddedToken, ...], vocabulary: Vocabulary
) -> tuple[AddedToken, ...]:
    """The added tokens with the ids that Hugging Face gives them (rules A1, A2)."""
    added: dict[str, AddedToken] = {}
    next_id = vocabulary.n_entries
    for token in declared:
        content = token.content
        if not content:
            continue
        before = added.get(content)
        token_id = before.id if before else vocabulary.token_to_id(content)
        if token_id is None:
            token_id, next_id = next_id, next_id + 1
        # Of equal tokens the last counts, but Hugging Face keeps traces of these two flags.
        if before and (before.special > token.special or before.normalized > token.normalized):
            raise _Unplannable(f"added token {content!r} is listed again with fewer flags")
        added[content] = token if token.id == token_id else token._replace(id=token_id)
    if len({token.id for token in added.values()}) < len(added):
        raise _Unplannable("two added tokens with one id are not supported natively")
    return tuple(added.values())


def _plan_token_forms(
    added_tokens: tuple[AddedToken, ...], normalizer: tuple[NormalizerStep, ...]
) -> tuple[tuple[int, str], ...]:
    """The normalized forms of tokens that have another content."""
    compiled = normalizer_of(normalizer)
    forms: set[str] = set()
    changed: list[tuple[int, str]] = []
    for token in added_tokens:
        if not token.normalized:
            continue
        form = compiled.normalize(token.content)
        if not form:
            raise _Unplannable(
                f"the normalizer leaves nothing of the added token {token.content!r}"
            )
        if form in forms:
            raise _Unplannable(f"the normalizer makes two added tokens {form!r}")
        forms.add(form)
        if form != token.content:
            changed.append((token.id, form))
    return tuple(changed)


def _check_trimming(
    added_tokens: tuple[AddedToken, ...],
    token_forms: Mapping[int, str],
    normalizer: tuple[NormalizerStep, ...],
) -> None:
    """Refuse tokens whose spaces the raw text does not show.

    Trimming goes by the text that was matched. With lstrip or rstrip that is not known, but NFC
    keeps each space, and makes none but of the letter that stands for a space in ByteLevel.
    """
    for token in added_tokens:
        form = token_forms.get(token.id, token.content)
        if (
            token.normalized
            and (token.lstrip or token.rstrip)
            and normalizer
            and (normalizer != (NormalForm("NFC"),) or "Ġ" in form)
        ):
            raise _Unplannable(
                f"trimming the offsets of the added token {token.content!r}, which is normalized "
                "and takes spaces, is not supported natively"
            )


def _plan_post_processor(steps: tuple[PostProcessorStep, ...]) -> PostProcessor:
    plan = PostProcessor()
    adds = False
    for step in steps:
        if isinstance(step, Other):
            raise _other("post-processor", step)
        if isinstance(step, ByteLevel | RobertaProcessing) and step.trim_offsets:
            if adds or plan.trim_offsets:
                raise _Unplannable(
                    "trimming offsets after another post-processor is not supported natively"
                )
            plan = replace(plan, trim_offsets=True, add_prefix_space=step.add_prefix_space)
        if not isinstance(step, ByteLevel):
            if adds:
                raise _Unplannable("two post-processors that add tokens are not supported natively")
            adds = True
            prefix_ids, suffix_ids = _special_ids(step)
            plan = replace(plan, prefix_ids=prefix_ids, suffix_ids=suffix_ids)
    return plan


def _special_ids(
    step: TemplateProcessing | RobertaProcessing | BertProcessing,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids before and after a single text."""
    if not isinstance(step, TemplateProcessing):
        return (step.cls_id,), (step.sep_id,)
    if [piece for piece in step.single if isinstance(piece, TextPiece)] != [TextPiece("A")]:
        raise _Unplannable("a template that does not hold the text once is not supported natively")
    before: list[int] = []
    after: list[int] = []
    ids = before
    for piece in step.single:
        if isinstance(piece, TextPiece):
            ids = after
        elif piece.ids is None:
            raise _Unplannable(f"the template does not define its special token {piece.name!r}")
        else:
            ids.extend(piece.ids)
    return tuple(before), tuple(after)
