"""USR's ratings of replies in Topical-Chat (Mehri, Eskenazi 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, read_json_list
from rejoinder.errors import InputError
from rejoinder.types import Item, Rating, Record, Response, Statement, Turn

_ASPECTS = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")
_FILE = DatasetFile(
    "judgements/usr/tc_usr_data.json",
    "e3263bf756e99a44d839815054aab83f6dc765bad6a6b2a55f154b2d07759366",
    318220,
    "Shikib/shikib.github.io",
    "6e62e9225515dd48f27a34080749e2e3af3d8bab",
    "tc_usr_data.json",
)


def _read(root: Path) -> Iterator[Record]:
    for number, row in enumerate(read_json_list(root / _FILE.path)):
        item = _item(row, f"usr-{number:02}")
        yield item
        raters = row.texts("annotators")
        for reply in row.rows("responses"):
            system = reply.text("model").strip()
            response = Response(f"{item.id}/{system}", item.id, system, reply.text("response").strip())
            yield response
            for aspect in _ASPECTS:
                yield from _ratings(reply, aspect, raters, response.id)


def _item(row: DatasetRow, name: str) -> Item:
    turns = tuple(Turn(text.strip()) for text in row.text("context").split("\n") if text.strip())
    fact = row.string("fact").strip()
    situation = (Statement(fact, "fact"),) if fact and fact != "_nofact" else ()
    return Item(name, turns, situation=situation)


def _ratings(reply: DatasetRow, aspect: str, raters: list[str], response: str) -> Iterator[Rating]:
    values = reply.values(aspect)
    if len(values) != len(raters):
        raise InputError(f"{reply.place}: '{aspect}' has {len(values)} ratings by {len(raters)} raters")
    for rater, value in zip(raters, values, strict=True):
        number = DatasetRow({aspect: value}, reply.place).number(aspect)
        yield Rating(rater, aspect.lower().replace(" ", "-"), number, response)


DATASETS = (
    Dataset(
        "usr/topical_chat",
        "360 replies in Topical-Chat, rated by three people each in six aspects",
        (_FILE,),
        NO_LICENCE,
        "Mehri, Eskenazi 2020 (ACL)",
        {"items": 60, "responses": 360, "ratings": 6480},
        "An item is a context; its situation is the fact that the reply could use (category `fact`; 8 items have "
        "none). Six systems answer each, two of them people: `Original Ground Truth` and `New Human Generated`; so "
        "there are no references. Raters are named by their initials, three per item. Aspects: `understandable` and "
        "`uses-knowledge` (0 or 1), `natural`, `maintains-context` (this is relevance) and `engaging` (1 to 3), "
        "`overall` (1 to 5). Ids count the contexts in the order of the file. The text is tokenised and lower-case.",
        _read,
    ),
)
