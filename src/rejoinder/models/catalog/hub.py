"""Files from a model hub: safetensors weights, the tokeniser and the configuration; no pickles, no code.

A file that the catalog pins must have the pinned sha256. The others are checked against the digest that the hub lists
(sha256 for large files, git's own for small ones) and recorded in the manifest: trust on first use.
"""

from __future__ import annotations

import hashlib
import http.client
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from rejoinder.data.dataset import DatasetFile
from rejoinder.data.download import (
    DEFAULT_RETRY_POLICY,
    FetchError,
    Progress,
    RetryPolicy,
    TransientError,
    dataset_file_url,
    download_file,
    fetch_dataset_file,
    open_url,
)
from rejoinder.files import put_in_place
from rejoinder.models.catalog.entry import Hub

HOST = "https://huggingface.co"
_MAX_BYTES = 2**23


@dataclass(frozen=True)
class HubFile:
    """A file as listed by the hub; ``sha256`` is None for a small file, which has ``blob``, git's sha1, instead."""

    name: str
    size: int
    sha256: str | None
    blob: str | None


@dataclass(frozen=True)
class HubListing:
    """The commit of a revision, and its files."""

    commit: str
    files: tuple[HubFile, ...]


def list_hub_files(hub: Hub, mirror: str | None = None, patience: RetryPolicy = DEFAULT_RETRY_POLICY) -> HubListing:
    """Return the files of a repository at the revision in the catalog."""
    base = (mirror or HOST).rstrip("/")
    url = f"{base}/api/models/{hub.repository}/revision/{quote(hub.revision, safe='')}?blobs=true"
    try:
        listing = orjson.loads(_read_url(url, patience))
        return HubListing(str(listing["sha"]), tuple(_parse_file(record) for record in listing["siblings"]))
    except (KeyError, TypeError, ValueError):
        raise FetchError(f"{url}: is not the file list of a repository") from None


def _parse_file(record: dict[str, Any]) -> HubFile:
    lfs = record.get("lfs") or {}
    name = str(record["rfilename"])
    if name.startswith("/") or ".." in name.split("/") or "\\" in name:
        raise ValueError(f"a file must not leave its folder: {name}")
    return HubFile(name, int(lfs.get("size") or record["size"]), lfs.get("sha256"), record.get("blobId"))


def _read_url(url: str, patience: RetryPolicy) -> bytes:
    problem: object = "no attempt was made"
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.pause * 2 ** (attempt - 1))
        try:
            with open_url(url, 0, Path(), patience.timeout) as answer:
                return answer.read(_MAX_BYTES)
        except (TransientError, OSError, http.client.HTTPException) as error:
            problem = error
    raise FetchError(
        f"{url}: {problem} (tried {patience.attempts} times); run the same command again, or use another server "
        "(mirror)"
    )


_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?")
_CONFIGURATION = re.compile(
    r"(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|added_tokens|vocab)\.json"
    r"|merges\.txt|vocab\.txt|(spiece|sentencepiece\.bpe|tokenizer)\.model"
    r"|modules\.json|sentence_bert_config\.json|1_Pooling/config\.json"
)
_PICKLES = re.compile(r".*\.(bin|pt|pth|ckpt|h5|msgpack)")


def fetch_repository(
    hub: Hub,
    folder: Path,
    mirror: str | None = None,
    progress: Progress | None = None,
    patience: RetryPolicy = DEFAULT_RETRY_POLICY,
) -> list[str]:
    """Download the needed files into ``folder``; return the names of those whose digest was not known in advance."""
    listing = list_hub_files(hub, mirror, patience)
    files = _select_files(hub, listing.files)
    done_bytes, total = 0, sum(file.size for file in files)
    for file in files:

        def show(file_bytes: int, _: int, bytes_before: int = done_bytes) -> None:
            if progress is not None:
                progress(bytes_before + file_bytes, total)

        expected = hub.pins.get(file.name, file.sha256)
        remote = DatasetFile(
            file.name, expected or "", file.size, hub.repository, f"resolve/{listing.commit}", file.name
        )
        if expected:
            fetch_dataset_file(remote, folder, mirror or HOST, patience, show)
        else:
            _fetch_small(remote, file.blob, folder, mirror or HOST, patience, show)
        done_bytes += file.size
    return [file.name for file in files if file.name not in hub.pins]


def _select_files(hub: Hub, files: tuple[HubFile, ...]) -> list[HubFile]:
    weights = [file for file in files if _WEIGHTS.fullmatch(file.name)]
    if not weights:
        pickles = ", ".join(file.name for file in files if _PICKLES.fullmatch(file.name)) or "other files"
        raise FetchError(
            f"{hub.repository} has no safetensors (only {pickles}), and pickles are not opened; convert it to "
            "safetensors elsewhere and use that folder instead"
        )
    missing = sorted(set(hub.pins) - {file.name for file in files})
    if missing:
        raise FetchError(f"{hub.repository}: revision {hub.revision} has no {', '.join(missing)}; nothing was saved")
    return weights + [file for file in files if _CONFIGURATION.fullmatch(file.name) and file.size]


def _fetch_small(
    remote: DatasetFile, blob: str | None, folder: Path, mirror: str, patience: RetryPolicy, progress: Progress
) -> None:
    """Download a file of which only git's digest is known; it is too small to resume a partial download."""
    target = folder / remote.path
    if target.is_file() and _git_digest(target) == blob:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    url = dataset_file_url(remote, mirror)
    download_file(url, part, remote.size, patience, progress)
    if _git_digest(part) != blob:
        part.unlink()
        raise FetchError(f"{url}: is not the file that the hub lists; nothing was saved")
    put_in_place(part, target)


def _git_digest(path: Path) -> str:
    """Return git's digest of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def find_in_hub_cache(name: str) -> Path | None:
    """Return the folder of a model that another program downloaded from the hub; None if there is none."""
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except Exception:  # not installed, not in the cache, or not a valid name: the library has a class for each
        return None
