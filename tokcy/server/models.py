"""The models that are served, and what they make of a task."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tokcy import Tokenizer
from tokcy._json import write_ids, write_text
from tokcy.aio import inline_length
from tokcy.backend import Ids
from tokcy.errors import TokcyError
from tokcy.prefix_cache import PrefixCache
from tokcy.server.errors import RequestError
from tokcy.server.requests import ChatTask, IdsTask, Task, TextTask

__all__ = ["Answer", "Models", "ServedModel", "short_name"]

#: Each request is encoded on one thread, so that others find a core.
THREADS_PER_REQUEST = 1
#: Tokens that are looked up and written as JSON before other threads may run.
TOKENS_AT_ONCE = 1000
LARGEST_LENGTH = 2**53  # what `transformers` puts where nothing is known is far above


@dataclass(frozen=True, slots=True)
class Answer:
    """The parts of a JSON text, how many ids went in or out, and the tokenizer's seconds.

    A large part stays as it is: to join them would copy megabytes under the GIL.
    """

    parts: tuple[bytes, ...]
    n_tokens: int
    seconds: float


class ServedModel:
    """A tokenizer under the name that requests give; made once, shared by threads."""

    def __init__(
        self,
        name: str,
        tokenizer: Tokenizer,
        max_model_len: int | None = None,
        trust_templates: bool = False,
        prefix_cache: PrefixCache | None = None,
    ) -> None:
        """Wrap a tokenizer.

        Args:
            name: what requests call it.
            tokenizer: which it is.
            max_model_len: tokens that the model takes, for answers; by default what the
                configuration says, if it does.
            trust_templates: let requests bring a chat template of their own.
            prefix_cache: for what texts and conversations begin with.
        """
        self.name = name
        self.tokenizer = tokenizer
        self.created = int(time.time())
        said = tokenizer.config.model_max_length
        if max_model_len is None and said is not None and said < LARGEST_LENGTH:
            max_model_len = int(said)
        self.max_model_len = max_model_len
        self._trust_templates = trust_templates
        self._prefix_cache = prefix_cache
        tokenizer.decode(tokenizer.encode("a"))  # makes what is made at first use
        self._max_id = max(tokenizer.get_vocab().values(), default=-1)
        self._inline_length = inline_length(tokenizer.backend)

    def is_short(self, task: Task) -> bool:
        """Whether a task of a small body is done faster than a thread is asked."""
        if isinstance(task, TextTask):
            return sum(map(len, task.texts)) <= self._inline_length
        return True

    def tokenize(self, task: TextTask | ChatTask) -> Answer:
        """The answer to ``/tokenize``.

        Raises:
            RequestError: the text or the conversation cannot be encoded.
        """
        started = time.perf_counter()
        (ids,) = self._ids(task)
        seconds = time.perf_counter() - started
        head = b'{"count":%d,"max_model_len":%s,"tokens":'
        parts = [head % (len(ids), json.dumps(self.max_model_len).encode()), write_ids(ids)]
        parts.append(b',"token_strs":')
        parts.extend(self._token_strs(ids) if task.token_strs else [b"null"])
        return Answer((*parts, b"}"), len(ids), seconds)

    def count(self, task: TextTask | ChatTask) -> Answer:
        """The answer to ``/count``; errors as in `tokenize`."""
        started = time.perf_counter()
        counts = [len(ids) for ids in self._ids(task)]
        seconds = time.perf_counter() - started
        answer: dict[str, Any] = {"count": sum(counts), "max_model_len": self.max_model_len}
        if isinstance(task, TextTask) and task.in_list:
            answer["counts"] = counts
        return Answer((json.dumps(answer).encode(),), sum(counts), seconds)

    def detokenize(self, task: IdsTask) -> Answer:
        """The answer to ``/detokenize``.

        Raises:
            RequestError: an id is none of the model's.
        """
        if len(task.ids) and task.ids.max() > self._max_id:
            bad = int(task.ids[task.ids > self._max_id][0])
            raise RequestError(
                f"token id {bad} is out of range; the largest of {self.name} is {self._max_id}",
                param="tokens",
            )
        started = time.perf_counter()
        text = self.tokenizer.decode(task.ids, skip_special_tokens=task.skip_special_tokens)
        seconds = time.perf_counter() - started
        return Answer((b'{"prompt":', write_text(text), b"}"), len(task.ids), seconds)

    def _ids(self, task: TextTask | ChatTask) -> Iterator[Ids]:
        """The ids of each text."""
        try:
            if isinstance(task, ChatTask):
                yield self._chat_ids(task)
                return
            for text in task.texts:
                yield self.tokenizer.encode(
                    text,
                    add_special_tokens=task.add_special_tokens,
                    allow_special=task.allow_special,
                    num_threads=THREADS_PER_REQUEST,
                    prefix_cache=self._prefix_cache,
                )
        except (TokcyError, RecursionError) as error:
            param = "messages" if isinstance(task, ChatTask) else "prompt"
            raise RequestError(str(error), param=param) from error

    def _chat_ids(self, task: ChatTask) -> Ids:
        template = task.options["chat_template"]
        named = template is None or template in self.tokenizer.config.chat_templates
        if not (named or self._trust_templates):
            # What a template writes may be control tokens, and it may take any time.
            raise RequestError(
                "this server takes no chat_template but by a name that the model has",
                param="chat_template",
            )
        try:
            segments = self.tokenizer.render_segments(task.messages, **task.options)
        except TypeError as error:  # options of `transformers` that are no variables of templates
            raise RequestError(str(error), param="chat_template_kwargs") from error
        return self.tokenizer.encode_segments(
            segments,
            join=True,
            add_special_tokens=task.add_special_tokens,
            num_threads=THREADS_PER_REQUEST,
            prefix_cache=self._prefix_cache,
        )

    def _token_strs(self, ids: Ids) -> Iterator[bytes]:
        """A JSON list of tokens, in parts."""
        known: dict[int, str | None] = {}
        yield b"["
        for begin in range(0, len(ids), TOKENS_AT_ONCE):
            part = ids[begin : begin + TOKENS_AT_ONCE].tolist()
            for token_id in part:
                if token_id not in known:
                    known[token_id] = self.tokenizer.id_to_token(token_id)
            tokens = json.dumps([known[token_id] for token_id in part])
            yield (b"," if begin else b"") + tokens[1:-1].encode()
        yield b"]"


class Models:
    """All models of a server, by name."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._by_name = {model.name: model for model in models}

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._by_name.values())

    def find(self, name: str | None) -> ServedModel:
        """The model of that name; of several one must be named.

        Raises:
            RequestError: there is none, or it is not clear which.
        """
        names = ", ".join(self._by_name)
        if name is None:
            if len(self._by_name) > 1:
                raise RequestError(
                    f"the field model is missing; it is one of {names}", param="model"
                )
            return next(iter(self))
        if name not in self._by_name:
            raise RequestError(
                f"the model {name[:200]!r} does not exist; there is {names}",
                status=404,
                param="model",
            )
        return self._by_name[name]


def short_name(path: str) -> str:
    """What a model is called that was given as a path: its folder, or its file without suffix."""
    if not os.path.exists(path):
        return path  # a hub id
    path = os.path.abspath(path)
    if os.path.basename(path) == "tokenizer.json":
        path = os.path.dirname(path)
    return os.path.basename(path).removesuffix(".json")
