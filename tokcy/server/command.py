"""The command ``tokcy serve``: its arguments, and the way from them to a running server."""

from __future__ import annotations

import argparse
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, get_args

from tokcy import PrefixCache, Tokenizer, get_num_threads
from tokcy.choice import BackendName
from tokcy.errors import TokcyError

__all__ = ["add_serve_command"]

_NEEDED = ("prometheus_client", "starlette", "uvicorn")

#: Bytes of large bodies that are held at once.
TOTAL_BYTES = 256 << 20
#: Seconds in which a body must have come, and in which a client takes something of its answer.
STALL_SECONDS = 60
#: Seconds that an idle connection is kept: longer than clients keep theirs, so that none is used
#: in the moment in which it is closed here.
KEEP_ALIVE_SECONDS = 75
#: Seconds after which a thread that runs Python gives way, as templates do; Python's 5 ms is long
#: for a request that takes a tenth of one.
SWITCH_SECONDS = 0.0005

_log = logging.getLogger("tokcy.server")


def add_serve_command(commands: Any, load: Callable[[str, argparse.Namespace], Tokenizer]) -> None:
    """Add ``serve`` to the subparsers of a parser.

    Args:
        commands: what `add_subparsers` gave.
        load: makes a tokenizer of a MODEL, by the options `backend`, `fallback` and `config`.
    """
    summary = "Serve models over HTTP, in the shapes of vLLM's /tokenize and /detokenize."
    parser = commands.add_parser("serve", help=summary, description=summary)
    parser.set_defaults(run=lambda arguments: _serve(arguments, load))
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="a tokenizer.json, a folder, or a hub id")
    add("--model-name", action="append", metavar="NAME", help="a MODEL's name, in their order")
    add("--max-model-len", type=_positive, metavar="N", help="what answers say of all models")
    add("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    add("--port", type=_port, default=8765, help="0 takes a free one (%(default)s)")
    add(
        "--backend",
        choices=get_args(BackendName),
        help="who does the work; default: TOKCY_BACKEND, else auto",
    )
    add(
        "--fallback",
        action=argparse.BooleanOptionalAction,
        help="leave what the engine cannot do to tokenizers; default: TOKCY_FALLBACK, else yes",
    )
    add(
        "--no-config",
        dest="config",
        action="store_false",
        help="leave out tokenizer_config.json and what else stands beside the tokenizer.json",
    )
    add(
        "--trust-request-chat-template",
        action="store_true",
        help="let requests bring chat templates, which may write control tokens and take any time",
    )
    add(
        "--max-request-bytes",
        type=_positive,
        default=16 << 20,
        metavar="N",
        help="of a body (%(default)s)",
    )
    add(
        "--prefix-cache-bytes",
        type=_bytes,
        default=64 << 20,
        metavar="N",
        help="memory for what texts begin with, which all models share; 0: none (%(default)s)",
    )
    add(
        "--grace",
        type=_positive,
        default=30,
        metavar="SECONDS",
        help="for requests under way when the server is stopped (%(default)s)",
    )


def _serve(
    arguments: argparse.Namespace, load: Callable[[str, argparse.Namespace], Tokenizer]
) -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise TokcyError(
            f"serve needs {', '.join(missing)}: install them with pip install 'tokcy[server]'"
        )
    import uvicorn

    from tokcy.server.models import short_name

    names = arguments.model_name or [short_name(model) for model in arguments.models]
    if len(names) != len(arguments.models):
        raise TokcyError(f"{len(names)} --model-name for {len(arguments.models)} models")
    if len(set(names)) != len(names):
        raise TokcyError(f"two models are called the same; give them a --model-name: {names}")
    tokenizers = [load(model, arguments) for model in arguments.models]
    frontend = _frontend(arguments, names, tokenizers)
    listening = _listen(arguments.host, arguments.port)
    config = uvicorn.Config(
        frontend.app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=arguments.grace,
    )
    # What is loaded stays, so the collector need not look at it while requests wait.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
    # uvicorn stops in good order, then raises the signal once more for whoever else waits for it.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    _announce(names, listening)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        frontend.lanes.close()


def _frontend(arguments: argparse.Namespace, names: list[str], tokenizers: list[Tokenizer]) -> Any:
    from tokcy.prefix_metrics import PrefixCacheCollector
    from tokcy.server.app import Frontend
    from tokcy.server.metrics import Metrics
    from tokcy.server.models import Models, ServedModel
    from tokcy.server.transfer import BodyReader

    size = arguments.prefix_cache_bytes
    cache = PrefixCache(size, read_only=True) if size else None
    models = [
        ServedModel(
            name,
            tokenizer,
            arguments.max_model_len,
            arguments.trust_request_chat_template,
            cache,
        )
        for name, tokenizer in zip(names, tokenizers, strict=True)
    ]
    reader = BodyReader(arguments.max_request_bytes, TOTAL_BYTES, STALL_SECONDS)
    sources = {tokenizer.source: name for name, tokenizer in zip(names, tokenizers, strict=True)}
    prefixes = None if cache is None else PrefixCacheCollector(cache, sources)
    metrics = Metrics(models, prefixes)
    return Frontend(Models(models), metrics, reader, get_num_threads(), STALL_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or error
        raise TokcyError(f"cannot listen at {host} port {port}: {reason}") from None
    # asyncio sends without delay only on sockets that say that they are TCP's, and `create_server`
    # makes none that do: the body of each answer would wait 40 ms for its header's receipt.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


def _announce(names: list[str], listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(
        f"tokcy: serving {', '.join(names)} at http://{shown}:{port}", file=sys.stderr, flush=True
    )


def _positive(word: str) -> int:
    return _number(word, 1, 2**53)


def _bytes(word: str) -> int:
    return _number(word, 0, 2**53)


def _port(word: str) -> int:
    return _number(word, 0, 65535)


def _number(word: str, least: int, most: int) -> int:
    if not word.isdecimal() or len(word) > 18 or not least <= int(word) <= most:
        raise argparse.ArgumentTypeError(f"{word!r} is no number from {least} to {most}")
    return int(word)
