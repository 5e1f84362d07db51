"""What a ``tokenizers.Tokenizer`` has of tokcy: its engine, or why there is none.

It is in the object's ``__dict__``, which Hugging Face neither pickles nor copies. Nothing in it
refers to the object, as Python's collector does not see such a circle.
"""

from __future__ import annotations

import functools
import logging
import os
import threading
import time
import types
import weakref
from typing import Any

import tokenizers

from tokcy._encoding import Encoding
from tokcy.errors import FallbackError
from tokcy.hf.calls import ATTACHMENT

from .comparison import NotNowError, encoding_differs, tokens_differ
from .gate import Gate, Settings
from .twins import Twin, twin_of
from .watch import Watch

__all__ = ["Attachment", "attachment_of", "forget_twins", "policy", "twin_for", "watch"]

logger = logging.getLogger("tokcy")

# An engine costs 0.1 to 1 s, in which Hugging Face encodes some hundred thousand characters. A
# tokenizer that is still being set up encodes a few words, and one that keeps changing must not
# spend its time on engines: so one is built after so many characters since the last change, and
# after twice as many each time that a change has made one useless within seconds.
_FIRST_WORK = 1 << 17
_MOST_WORK = 1 << 24
_LONG_LIFE = 10.0
_WORK_OF_CALL = 64  # characters that take as long as a call by itself

_MOST_WARNINGS = 100  # as a reason may name a token

_UNSEEN: Any = object()


class Policy:
    """Who is to encode natively.

    Attributes:
        everything: all tokenizers, and not only those that were wrapped.
        strict: who cannot raises an error.
    """

    everything = False
    strict = False


policy = Policy()


class Attachment:
    """The state of one tokenizer. Whoever changes it holds its lock.

    Attributes:
        gate: for calls of Hugging Face's code.
        wrapped: it is to encode natively whatever the policy is.
        end_of_wrap: what to call when it is no longer; there where it was once.
        changes, deep_changes: of the tokenizer itself, as `Watch` tells.
    """

    end_of_wrap: Any

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.gate = Gate()
        self.wrapped = False
        self.changes = 0
        self.deep_changes = 0
        self._seen: tuple[int, ...] = ()
        self._epoch = self._seen_changes = -1
        self._known = False  # what the twin is, or that there is none
        self._kept: Twin | None = None  # of the content, whether it can stand in or not
        self._twin: Twin | None = None
        self._reason: str | None = None
        self._fingerprint: Any = None
        self._since = 0.0
        self._work = 0
        self._threshold = _FIRST_WORK
        self._postponed = False

    def twin(self, tokenizer: tokenizers.Tokenizer, work: Any) -> Twin | None:
        """The twin of the tokenizer as it is, or None if Hugging Face's code is to do the work.

        Args:
            tokenizer: what this is attached to.
            work: the text or texts to encode, or the ids to decode.

        Raises:
            FallbackError: there can be no twin, and the policy is strict.
        """
        if not (policy.everything or self.wrapped):
            return None
        if self._epoch != watch.epoch or self._seen_changes != self.changes:
            self._look_again(tokenizer)
        if not self._known:
            self._work += _amount(work)
            eager = (policy.strict or self.wrapped) and not self._postponed
            if self._work < self._threshold and not eager:
                return None
            self._build(tokenizer)
        if self._reason is not None and policy.strict:
            raise FallbackError(self._reason, source="tokenizers.Tokenizer")
        return self._twin

    def why_not(self, tokenizer: tokenizers.Tokenizer) -> str | None:
        """Why there is no twin, which is made if need be, or None."""
        if not (policy.everything or self.wrapped):
            return self.reason
        self._look_again(tokenizer)
        if not self._known:
            self._build(tokenizer)
        return None if self._twin is not None else self.reason

    @property
    def reason(self) -> str:
        """Why a call to encode plain text was not native."""
        if self._reason is not None:
            return self._reason
        if not (policy.everything or self.wrapped):
            return "it is not wrapped"
        return "an error" if self._known else "too little text since the last change"

    def forget(self) -> None:
        """Let the twin go."""
        self._known = False
        self._kept = self._twin = self._reason = self._fingerprint = None

    def _counts(self) -> tuple[int, ...]:
        return watch.epoch, self.changes, watch.models, self.deep_changes

    def _saw(self, counts: tuple[int, ...]) -> None:
        self._seen = counts
        self._epoch, self._seen_changes = counts[:2]

    def _look_again(self, tokenizer: tokenizers.Tokenizer) -> None:
        """Find out whether a change that was counted has changed this tokenizer."""
        with self.lock:
            counts = self._counts()
            if self._known:
                if counts[2:] != self._seen[2:] or fingerprint(tokenizer) != self._fingerprint:
                    self.forget()
                    self._put_off(again=time.monotonic() - self._since < _LONG_LIFE)
            elif counts[1] != self._seen_changes:
                self._work = 0
            self._saw(counts)

    def _put_off(self, again: bool) -> None:
        """Begin to count the work anew, up to more than before if it has just been done."""
        self._work = 0
        self._threshold = min(2 * self._threshold, _MOST_WORK) if again else _FIRST_WORK

    def _build(self, tokenizer: tokenizers.Tokenizer) -> None:
        with self.lock:
            if self._known:
                return
            counts = self._counts()
            self._fingerprint = fingerprint(tokenizer)
            twin = twin_of(tokenizer)
            reason = twin.reason
            if reason is None:
                try:
                    reason = _difference(tokenizer, twin)
                except NotNowError as error:
                    logger.debug("no engine yet: %s", error)
                    self._put_off(again=False)
                    self._postponed = True
                    return
            self._kept, self._reason = twin, reason
            self._twin = twin if reason is None else None
            self._since = time.monotonic()
            self._saw(counts)
            self._known, self._postponed = True, False
        if reason is not None:
            _warn_once(reason)


_all: weakref.WeakSet[Attachment] = weakref.WeakSet()
_all_lock = threading.RLock()  # as the collector may end a wrapped object at any time
_warned: set[str] = set()


def attachment_of(tokenizer: tokenizers.Tokenizer) -> Attachment | None:
    """That of a tokenizer, made if need be, or None if it is to be left alone."""
    held = vars(tokenizer).get(ATTACHMENT, _UNSEEN)
    if held is _UNSEEN:
        held = vars(tokenizer).setdefault(ATTACHMENT, Attachment())
        with _all_lock:
            _all.add(held)
    return held  # type: ignore[no-any-return]


def twin_for(tokenizer: tokenizers.Tokenizer, work: Any) -> Twin | None:
    """See `Attachment.twin`."""
    attachment = vars(tokenizer).get(ATTACHMENT) or attachment_of(tokenizer)
    return None if attachment is None else attachment.twin(tokenizer, work)


def forget_twins() -> None:
    """Let all engines go but those of wrapped tokenizers."""
    with _all_lock:
        attachments = list(_all)
    for attachment in attachments:
        if not attachment.wrapped:
            attachment.forget()


def fingerprint(tokenizer: tokenizers.Tokenizer) -> tuple[Any, ...]:
    """What the components tell in microseconds; a change of anything else is counted as deep."""
    model: Any = tokenizer.model
    return (
        *(_state(component) for component in (tokenizer.normalizer, tokenizer.pre_tokenizer)),
        *(_state(component) for component in (tokenizer.post_processor, tokenizer.decoder)),
        *(getattr(model, name) for name in _attributes(model.__class__)),
        tokenizer.get_vocab_size(False),
        tokenizer.get_vocab_size(True),
    )


def _state(component: Any) -> bytes | None:
    try:
        return None if component is None else component.__getstate__()
    except Exception:  # it is written in Python: there is no twin, whatever it does
        return b"custom"


@functools.cache
def _attributes(owner: Any) -> tuple[str, ...]:
    kinds = (types.GetSetDescriptorType, property)
    found = {
        name
        for base in owner.__mro__
        for name, attribute in vars(base).items()
        if isinstance(attribute, kinds) and not name.startswith("__")
    }
    return tuple(sorted(found))


def _amount(work: Any) -> int:
    """Characters, about, of a text, a list of texts or a list of lists of ids."""
    if isinstance(work, str):
        return _WORK_OF_CALL + len(work)
    return sum(_WORK_OF_CALL + len(x) * (1 if isinstance(x, str) else 4) for x in work)


def _warn_once(reason: str) -> None:
    if reason not in _warned and len(_warned) < _MOST_WARNINGS:
        _warned.add(reason)
        logger.warning("Hugging Face's own code encodes, more slowly: %s", reason)


def _difference(tokenizer: tokenizers.Tokenizer, twin: Twin) -> str | None:
    def encode(text: str, settings: Settings) -> Encoding:
        truncation, padding, special_as_text = settings
        if special_as_text:
            raise NotNowError("special tokens as text")
        return twin.encoder.encode(text, False, truncation, padding)

    return tokens_differ(tokenizer, twin.backend) or encoding_differs(tokenizer, encode)


def _on_change(tokenizer: tokenizers.Tokenizer, deep: bool) -> None:
    attachment = vars(tokenizer).get(ATTACHMENT)
    if attachment is not None:
        attachment.deep_changes += deep
        attachment.changes += 1


watch = Watch(_on_change)


def _after_fork_in_child() -> None:
    """Make the locks anew, which threads that stayed behind may hold."""
    global _all_lock
    _all_lock = threading.RLock()
    for attachment in list(_all):
        attachment.lock, attachment.gate = threading.Lock(), Gate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
