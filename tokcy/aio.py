"""The encoding calls as awaitables, so that an event loop goes on while a long text is encoded.

Handing work to a thread and back costs 70 µs, and native code encodes 8,192 characters that it
knows in 11 (English) to 65 µs (Chinese), new ones in some three times that. So shorter work is done
at once, in the event loop; `tokenizers` takes sixteen times as long or more, and the limit is that
much lower.

Longer work goes to one executor for the whole process. It is made when it is first wanted, with as
many threads as `tokcy.get_num_threads` says then, so ``TOKCY_NUM_THREADS`` and
`tokcy.set_num_threads` bound it; what comes beyond waits its turn. A forked child makes its own.
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from tokcy.threads import get_num_threads

if TYPE_CHECKING:
    from tokcy.backend import Ids
    from tokcy.batch import TokenBatch
    from tokcy.prefix_cache import PrefixCache

__all__ = ["AsyncEncoding", "inline_length", "is_short", "shared_executor"]

#: Characters that are encoded in the event loop, natively and by `tokenizers`.
NATIVE_INLINE = 8192
HUGGING_FACE_INLINE = NATIVE_INLINE // 16

_Result = TypeVar("_Result")

_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def inline_length(backend: str) -> int:
    """How many characters the backend of that name encodes faster than a thread is asked."""
    return HUGGING_FACE_INLINE if backend == "huggingface" else NATIVE_INLINE


class AsyncEncoding:
    """What `Tokenizer` has of awaitables.

    Each takes the arguments of the call it is named after, gives what that gives and raises what
    that raises. Short work is done before anything is awaited. Long work runs in a thread: a task
    that is cancelled meanwhile ends at once, and what had not begun is not done at all; what had
    begun goes on to its end, for nobody.
    """

    if TYPE_CHECKING:  # of the class that this is mixed into

        @property
        def backend(self) -> str: ...

        encode: Callable[..., Ids]
        encode_batch: Callable[..., TokenBatch]
        encode_segments: Callable[..., Ids]

    async def aencode(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
        prefix_cache: PrefixCache | None = None,
    ) -> Ids:
        """`encode`, without holding up the event loop."""
        call = functools.partial(
            self.encode,
            text,
            add_special_tokens=add_special_tokens,
            allow_special=allow_special,
            num_threads=num_threads,
            chunking=chunking,
            prefix_cache=prefix_cache,
        )
        return await _run(call, self._is_short([text]))

    async def aencode_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
    ) -> TokenBatch:
        """`encode_batch`, without holding up the event loop.

        ``texts`` is iterated over before anything is awaited.
        """
        held = texts if isinstance(texts, str | bytes) else list(texts)
        call = functools.partial(
            self.encode_batch,
            held,
            add_special_tokens=add_special_tokens,
            allow_special=allow_special,
            num_threads=num_threads,
            chunking=chunking,
        )
        return await _run(call, self._is_short(held))

    async def aencode_segments(self, segments: Iterable[Any], **options: Any) -> Ids:
        """`encode_segments`, without holding up the event loop.

        ``segments`` is iterated over before anything is awaited, and a buffer given as ``out``
        must be left alone until the call has returned; after a cancelled one, for good.
        """
        held = list(segments)
        texts = [segment[0] for segment in held if isinstance(segment, list | tuple) and segment]
        call = functools.partial(self.encode_segments, held, **options)
        return await _run(call, self._is_short(texts) and len(texts) == len(held))

    def _is_short(self, texts: Iterable[Any]) -> bool:
        return is_short(texts, inline_length(self.backend))


def is_short(texts: Iterable[Any], room: int) -> bool:
    """Whether these take no longer than a thread is asked; what is no text is soon refused."""
    for text in texts:
        # What even an empty text costs, in characters: its call, and its place in a batch.
        room -= 16 + len(text) if isinstance(text, str) else 16
        if room < 0:
            return False
    return True


async def _run(call: Callable[[], _Result], inline: bool) -> _Result:
    if inline:
        return call()
    return await asyncio.get_running_loop().run_in_executor(shared_executor(), call)


def shared_executor() -> ThreadPoolExecutor:
    """The one executor of this process."""
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(get_num_threads(), thread_name_prefix="tokcy")
        return _executor


def _after_fork_in_child() -> None:
    """Forget the executor, whose threads stayed behind, and the lock, which may be held."""
    global _executor, _lock
    _executor = None
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
