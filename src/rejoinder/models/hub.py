"""Files out of a model hub: weights in safetensors, the tokeniser and the configuration; no pickle, no code.

A file that the catalog pins must have the pinned sha256. The others are checked against the digest that the hub lists
(sha256 of large files, git's own of small ones), and the manifest keeps what was found: trust on first use.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from rejoinder.data.datasets._contract import File
from rejoinder.data.fetching import PATIENCE, FetchError, Patience, Progress, download, fetch, url_of
from rejoinder.models.entry import Hub
from rejoinder.models.listing import HOST, Listed, listing

_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")
_BESIDE = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab)\.json"
    r"|merges\.txt|vocab\.txt|(spiece|sentencepiece\.bpe|tokenizer)\.model"
    r"|modules\.json|sentence_bert_config\.json|1_Pooling/config\.json"
)
_PICKLES = re.compile(r".*\.(bin|pt|pth|ckpt|h5|msgpack)")


def take(
    hub: Hub,
    folder: Path,
    mirror: str | None = None,
    progress: Progress | None = None,
    patience: Patience = PATIENCE,
) -> list[str]:
    """Bring the wanted files into ``folder``; the names of those whose digest was not known beforehand."""
    found = listing(hub, mirror, patience)
    wanted = _wanted(hub, found.files)
    done, total = 0, sum(file.size for file in wanted)
    for file in wanted:

        def show(here: int, _: int, before: int = done) -> None:
            if progress is not None:
                progress(before + here, total)

        expected = hub.pins.get(file.name, file.sha256)
        remote = File(file.name, expected or "", file.size, hub.repository, f"resolve/{found.commit}", file.name)
        if expected:
            fetch(remote, folder, mirror or HOST, patience, show)
        else:
            _fetch_small(remote, file.blob, folder, mirror or HOST, patience, show)
        done += file.size
    return [file.name for file in wanted if file.name not in hub.pins]


def _wanted(hub: Hub, listed: tuple[Listed, ...]) -> list[Listed]:
    weights = [file for file in listed if _WEIGHTS.fullmatch(file.name)]
    if not weights:
        pickles = ", ".join(file.name for file in listed if _PICKLES.fullmatch(file.name)) or "other files"
        raise FetchError(
            f"{hub.repository} has no safetensors (only {pickles}), and pickles are not opened; convert it to "
            "safetensors elsewhere and name that folder instead"
        )
    missing = sorted(set(hub.pins) - {file.name for file in listed})
    if missing:
        raise FetchError(f"{hub.repository}: the revision {hub.revision} has no {', '.join(missing)}; nothing was kept")
    return weights + [file for file in listed if _BESIDE.fullmatch(file.name) and file.size]


def _fetch_small(
    remote: File, blob: str | None, folder: Path, mirror: str, patience: Patience, progress: Progress
) -> None:
    """Fetch a file that is known by git's digest only; it is too small to go on with a part of it."""
    target = folder / remote.path
    if target.is_file() and _blob_of(target) == blob:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    url = url_of(remote, mirror)
    download(url, part, remote.size, patience, progress)
    if _blob_of(part) != blob:
        part.unlink()
        raise FetchError(f"{url}: is not the file that the hub lists; nothing was kept")
    os.replace(part, target)


def _blob_of(path: Path) -> str:
    """Git's digest of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
