"""The tails that a generator wrote before, kept in ``<cache>/tails``: an event is asked about once.

Where everything that is asked for is known, the generator is not opened, and needs nothing that it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.augmenting.commonsense import Generator
from rejoinder.augmenting.line_store import LineStore, digest_of
from rejoinder.paths import cache_home

VERSION = 1  # of how tails are written: another one writes them anew
_AT_ONCE = 16  # heads that a killed command may lose


class Tails(NamedTuple):
    """The tails of an event and a relation, best first."""

    tails: Sequence[str]


class KeptTails:
    """A generator whose tails are kept; ``signature`` is all that decides them beside the question."""

    def __init__(self, open_generator: Callable[[], Generator], signature: str, path: Path) -> None:
        self._open = open_generator
        self._signature = signature
        self._store = LineStore(lambda fields: Tails(**fields), "tails", path)

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        """Up to n tails of each event and a relation, best first; only what is not known is asked for."""
        keys = {head: digest_of([self._signature, relation, n, head]) for head in heads}
        missing = [head for head, key in keys.items() if self._store.get(key) is None]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            written = self._open().tails(part, relation, n)
            self._store.put((keys[head], Tails(found)) for head, found in zip(part, written, strict=True))
        return [list(found.tails) if (found := self._store.get(keys[head])) else [] for head in heads]


def kept_comet() -> KeptTails:
    """The package's own COMET, its tails kept."""
    from rejoinder.models import addition, comet

    card = addition.read(comet.SHIPPED, comet.KIND)
    signature = f"{VERSION} {card.base} {card.base_digest} {card.parts}"
    path = cache_home() / "tails" / f"comet-{card.parts[:12]}-{card.base_digest[:12]}.jsonl"
    return KeptTails(comet.open_comet, signature, path)
