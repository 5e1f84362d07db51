"""What the measurements need and must not make themselves: right results, and saved forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bench import chat, server
from bench.conversation import Conversation
from bench.crafted import crafted_texts
from bench.libraries import LIBRARIES
from bench.library import Ids, Saver
from bench.measure import digest, digest_text
from bench.texts import SOME, Pieces

DECODED_IDS = 1_000_000
REFERENCE = next(iter(LIBRARIES))


def make_reference(model: Path, texts: dict[str, Pieces], folder: Path) -> None:
    """Write the digests of the reference's ids, and ids to decode with the digest of their text."""
    library = LIBRARIES[REFERENCE](model)
    digests: dict[str, dict[str, Any]] = {}
    decoded: list[Ids] = []
    share = DECODED_IDS // len(texts)

    def encode(batch: list[str]) -> list[Ids]:
        return [np.array(ids, dtype=np.uint32) for ids in library.encode_batch_list(batch)]

    for name, pieces in texts.items():
        [first, *unseen] = encode([pieces.first, *pieces.unseen])
        short = encode(pieces.short)
        digests[name] = {
            "first": digest(first),
            "unseen": [digest(ids) for ids in unseen],
            "prompts": [digest(ids) for ids in encode(pieces.prompts)],
            "short": digest(np.concatenate(short)),
            "short, some": digest(np.concatenate(short[:SOME])),
            **{
                use: [digest(np.concatenate(encode(batch))) for batch in batches]
                for use, batches in pieces.for_transformers().items()
            },
        }
        decoded.append(np.resize(np.concatenate(unseen), share))
    shapes = crafted_texts()
    made = encode(list(shapes.values()))
    digests["crafted"] = {shape: digest(ids) for shape, ids in zip(shapes, made, strict=True)}
    ids = np.concatenate(decoded)
    text = library.decode(library.decode_input(ids))
    digests["decode"] = {"text": digest_text(text), "bytes": len(text.encode())}
    np.save(folder / "ids.npy", ids)
    (folder / "digests.json").write_text(json.dumps(digests))


def make_chat_reference(model: Path, material: chat.Material, folder: Path) -> None:
    """Write the digests of the reference's ids of all chats, cut and uncut."""
    library = LIBRARIES[REFERENCE](model)
    digests: dict[str, dict[str, list[str]]] = {}
    for before, sizes in ((chat.WARM_UP, chat.SIZES), (chat.WARM_UP, chat.AT_ONCE)):
        for position, size in enumerate(sizes):
            digests[size.name] = {"chat": [], "uncut": []}
            for segments in material.chats(size, before, *sizes[:position]):
                uncut = library.encode_uncut(segments)
                pieces = chat.kimi_pieces(segments)
                cut = uncut if len(pieces) == len(segments) else library.encode_uncut(pieces)
                digests[size.name]["chat"].append(digest(cut))
                digests[size.name]["uncut"].append(digest(uncut))
    (folder / "digests.json").write_text(json.dumps(digests))


def make_conversation_reference(model: Path, conversation: Conversation, folder: Path) -> None:
    """Write the digests of the reference's ids of all requests, of texts and of segments."""
    library = LIBRARIES[REFERENCE](model)
    texts, segments = conversation.ways["text"], conversation.ways["segments"]
    digests = {
        "text": {"requests": [digest(library.encode(text)) for text in texts]},
        "segments": {"requests": [digest(library.encode_uncut(request)) for request in segments]},
    }
    (folder / "digests.json").write_text(json.dumps(digests))


def make_server_reference(model: Path, material: chat.Material, folder: Path) -> None:
    """Write the digests of the reference's ids of all prompts."""
    library = LIBRARIES[REFERENCE](model)
    ids = [digest(library.encode(prompt)) for _, prompt in server.prompts(material)]
    (folder / "digests.json").write_text(json.dumps({"server": {"ids": ids}}))


def save_forms(model: Path, libraries: list[str], folder: Path) -> None:
    """Write the saved form of each library that has one."""
    for name in libraries:
        library = LIBRARIES[name]
        if issubclass(library, Saver) and not library.only_named:
            library.save(model, folder / library.saved_as)
