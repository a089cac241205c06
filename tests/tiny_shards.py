"""Small conversations to be packed into shards: dialogues, items, replies of two systems, ratings."""

from __future__ import annotations

from rejoinder.data.schema import Place
from rejoinder.types import Dialogue, Item, Rating, Record, Reference, Response, Turn


def talk(dialogues: int = 12, turns: int = 3) -> list[Record]:
    """Dialogues of some turns, each answered by two systems and rated."""
    found: list[Record] = []
    for d in range(dialogues):
        found.append(Dialogue(f"d{d}", (Turn("hello"), Turn("there"))))
        for t in range(turns):
            item = f"d{d}-{t}"
            found.append(Item(item, (Turn(f"say {t}"),), (Reference(f"I say {t} of {d}"),), dialogue=f"d{d}"))
            found += [Response(f"{item}/{s}", item, s, f"I say {t} and {d}") for s in ("a", "b")]
            found.append(Rating("cleo", "good", 1.0, response=f"{item}/a"))
    return found


def placed(records: list[Record]) -> list[tuple[Record, Place]]:
    return [(record, Place("x", n)) for n, record in enumerate(records, start=1)]
