"""The files of a hub's repository at one revision, as the hub lists them: name, size and digest."""

from __future__ import annotations

import http.client
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson

from rejoinder.data.fetching import PATIENCE, FetchError, PassingTrouble, Patience, open_url
from rejoinder.models.entry import Hub

HOST = "https://huggingface.co"
_LIMIT = 2**23


@dataclass(frozen=True)
class Listed:
    """A file as the hub lists it; ``sha256`` is None for a small one, which has ``blob``, git's sha1, instead."""

    name: str
    size: int
    sha256: str | None
    blob: str | None


@dataclass(frozen=True)
class Listing:
    """What a revision resolves to, and its files."""

    commit: str
    files: tuple[Listed, ...]


def listing(hub: Hub, mirror: str | None = None, patience: Patience = PATIENCE) -> Listing:
    """The files of a repository at the revision that the catalog names."""
    base = (mirror or HOST).rstrip("/")
    url = f"{base}/api/models/{hub.repository}/revision/{quote(hub.revision, safe='')}?blobs=true"
    try:
        found = orjson.loads(_read(url, patience))
        return Listing(str(found["sha"]), tuple(_listed(one) for one in found["siblings"]))
    except (KeyError, TypeError, ValueError):
        raise FetchError(f"{url}: is not the list of a repository's files") from None


def _listed(one: dict[str, Any]) -> Listed:
    large = one.get("lfs") or {}
    name = str(one["rfilename"])
    if name.startswith("/") or ".." in name.split("/") or "\\" in name:
        raise ValueError(f"a file must not leave its folder: {name}")
    return Listed(name, int(large.get("size") or one["size"]), large.get("sha256"), one.get("blobId"))


def _read(url: str, patience: Patience) -> bytes:
    trouble: object = "no attempt was made"
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.pause * 2 ** (attempt - 1))
        try:
            with open_url(url, 0, Path(), patience.timeout) as answer:
                return answer.read(_LIMIT)
        except (PassingTrouble, OSError, http.client.HTTPException) as met:
            trouble = met
    raise FetchError(
        f"{url}: {trouble} (tried {patience.attempts} times); run the same command again, or name another server "
        "with --mirror"
    )
