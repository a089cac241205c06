"""Example files to try every command on: made-up conversations and ratings that come with the package."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rejoinder.data.collection import Collection, read_files
from rejoinder.data.writer import encode_record
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.types import Record

_CHATS = Path(__file__).with_name("examples") / "chats.jsonl.gz"
_VERSIONS = {"old.jsonl": "attentive", "new.jsonl": "plain"}  # the system of chats.jsonl whose replies a file has
_BOT = "assistant"


def demo(folder: str | Path = "demo") -> list[Path]:
    """Write example files into a folder, and return their paths; a file of that name that differs is an error.

    - ``folder``: where to write them; it is made if it is not there.

    ``old.jsonl`` and ``new.jsonl`` are the replies of one bot before and after a change of its prompt ("be brief"),
    ``chats.jsonl`` those of four bots, with references and ratings. All of it is made up.

    >>> import rejoinder
    >>> [path.name for path in rejoinder.demo("demo")]
    ['old.jsonl', 'new.jsonl', 'chats.jsonl']
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError(f"{folder}: is a file; name a folder, e.g. rejoinder demo -o examples") from None
    chats = target / "chats.jsonl"
    _write_file(chats, gzip.decompress(_CHATS.read_bytes()))
    collection = read_files([chats])
    for name, system in _VERSIONS.items():
        _write_file(target / name, b"".join(map(encode_record, _choose_records(collection, system))))
    return [*(target / name for name in _VERSIONS), chats]


def _choose_records(collection: Collection, system: str) -> Iterator[Record]:
    """Yield the items and one system's responses to them, under the name of the one bot; no ratings."""
    yield from collection.items.values()
    for response in collection.responses.values():
        if response.system == system:
            yield replace(response, id=f"{response.item}/{_BOT}", system=_BOT)


def _write_file(path: Path, content: bytes) -> None:
    if path.exists() and (path.is_dir() or path.read_bytes() != content):
        raise InputError(f"{path}: is there already and differs; name another folder, e.g. rejoinder demo -o examples")
    with atomic_write(path) as file:
        file.write(content)
