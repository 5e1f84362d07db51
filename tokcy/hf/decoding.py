"""The compiled decoder for a model that Hugging Face runs."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer

from tokcy._decode import Decoder
from tokcy._vocab import Vocabulary
from tokcy.spec import DecoderPlan
from tokcy.spec.decoders import read_decoder
from tokcy.spec.fields import Node
from tokcy.spec.plan_decode import UnplannableDecoderError, plan_decoder
from tokcy.spec.steps import Other

__all__ = ["compiled_decoder"]


def compiled_decoder(
    tokenizer: Tokenizer, content: dict[str, Any], source: str
) -> tuple[Decoder, DecoderPlan] | None:
    """The decoder that a model file asks for and its plan, if there can be one.

    Args:
        tokenizer: made of the file.
        content: the file.
        source: its name, for messages.
    """
    steps = read_decoder(Node(content.get("decoder"), source, "decoder"))
    vocabulary = Vocabulary(tokenizer.get_vocab(with_added_tokens=False), [])
    sound = vocabulary.ids_are_dense and vocabulary.ids_are_distinct
    if not sound or any(isinstance(step, Other) for step in steps or ()):
        return None
    try:
        plan = plan_decoder(steps)
    except UnplannableDecoderError:
        return None
    added = tokenizer.get_added_tokens_decoder()
    shown = {token_id: tokenizer.id_to_token(token_id) or "" for token_id in added}
    # What was special once stays so, and the text counts, not the id (rules A2, D2).
    contents = {token.content for token in added.values() if token.special}
    contents |= {
        token["content"] for token in content.get("added_tokens") or () if token["special"]
    }
    special = [token_id for token_id, text in shown.items() if text in contents]
    return Decoder(vocabulary, shown, special, plan), plan
