"""FED's ratings of single replies and of whole dialogues with two chatbots and people (Mehri, Eskenazi 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, read_json_list
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Item, Rating, Record, Response, Turn

_FILE = DatasetFile(
    "judgements/fed/fed_data.json",
    "8cf8b0ad5c60e6eee7261f643da10947dbf42fe4f17194e199d118e2a6ea06fd",
    758828,
    "Shikib/shikib.github.io",
    "6e62e9225515dd48f27a34080749e2e3af3d8bab",
    "fed_data.json",
)
_CITATION = "Mehri, Eskenazi 2020 (SIGdial)"
_RATERS = (
    "Five people rated each; the file does not say who, so `rater-2` only means the second of the five. A person could "
    'answer "N/A" and say why; such answers are not ratings and are left out'
)


class _Group(NamedTuple):
    """A rated dialogue and the rated turns that the file puts before it."""

    id: str
    dialogue: DatasetRow
    turns: list[DatasetRow]


def _read_groups(root: Path) -> Iterator[_Group]:
    turns: list[DatasetRow] = []
    number = 0
    for row in read_json_list(root / _FILE.path):
        if "response" in row.fields:
            turns.append(row)
            continue
        yield _Group(f"fed-{number:03}", row, turns)
        turns = []
        number += 1
    if turns:
        raise InputError(f"{turns[0].place}: no whole dialogue follows this turn; the file may be truncated")


def _read_turns(root: Path) -> Iterator[Record]:
    for group in _read_groups(root):
        whole = _parse_turns(group.dialogue)
        for number, row in enumerate(group.turns):
            context, reply = _parse_turns(row), _parse_turn(row.text("response"), row)
            if whole[: len(context)] != context:
                raise InputError(f"{row.place}: its context is not the beginning of the dialogue that follows")
            item = Item(f"{group.id}-{number}", context, future=whole[len(context) + 1 :], dialogue=group.id)
            yield item
            system = row.text("system").strip()
            response = Response(f"{item.id}/{system}", item.id, system, reply.text)
            yield response
            for rater, aspect, value in _parse_ratings(row):
                yield Rating(rater, aspect, value, response=response.id)


def _read_dialogues(root: Path) -> Iterator[Record]:
    for group in _read_groups(root):
        system = group.dialogue.text("system").strip()
        yield Dialogue(group.id, _parse_turns(group.dialogue), "fed", meta={"system": system})
        for rater, aspect, value in _parse_ratings(group.dialogue):
            yield Rating(rater, aspect, value, dialogue=group.id)


def _parse_turns(row: DatasetRow) -> tuple[Turn, ...]:
    return tuple(_parse_turn(line, row) for line in row.text("context").split("\n") if line.strip())


def _parse_turn(line: str, row: DatasetRow) -> Turn:
    speaker, colon, text = line.partition(":")
    if not colon or speaker not in ("User", "System") or not text.strip():
        raise InputError(f"{row.place}: a turn must be 'User: ...' or 'System: ...', found {brief(line)}")
    return Turn(text.strip(), speaker)


def _parse_ratings(row: DatasetRow) -> Iterator[tuple[str, str, float]]:
    annotations = row.row("annotations")
    for aspect in annotations.fields:
        if not aspect.strip():
            raise annotations.wrong(aspect, "the name of an aspect")
        for number, value in enumerate(annotations.values(aspect), start=1):
            if not isinstance(value, str):
                rating = DatasetRow({aspect: value}, row.place).number(aspect)
                yield f"rater-{number}", aspect.lower().replace(" ", "-"), rating


DATASETS = (
    Dataset(
        "fed/turn",
        "375 replies of Meena, Mitsuku and people, rated by five people each in nine aspects",
        (_FILE,),
        NO_LICENCE,
        _CITATION,
        {"items": 375, "responses": 375, "ratings": 16863},
        "An item is a place in a dialogue of `fed/dialogue` (speakers `User` and `System`); its future is the rest "
        "of that dialogue after the reply. Systems: `Meena`, `Mitsuku`, `Human`. Aspects: `interesting`, "
        "`engaging`, `specific`, `relevant`, `correct`, `semantically-appropriate`, `fluent` (0 to 2), "
        f"`understandable` (0 or 1), `overall` (0 to 4). {_RATERS}: 12 of 16,875. Ids count the dialogues in the "
        "order of the file.",
        _read_turns,
    ),
    Dataset(
        "fed/dialogue",
        "125 whole dialogues with Meena, Mitsuku and people, rated by five people each in eleven aspects",
        (_FILE,),
        NO_LICENCE,
        _CITATION,
        {"dialogues": 125, "ratings": 6720},
        "A rating names a dialogue, not a response; the system is in the dialogue's meta. Aspects: `coherent`, "
        "`error-recovery`, `diverse`, `depth`, `likeable`, `understanding`, `flexible`, `informative`, `inquisitive` "
        f"(0 to 2), `consistent` (0 or 1), `overall` (0 to 4). {_RATERS}: 155 of 6,875, nearly all for "
        "`error-recovery` where there was no error.",
        _read_dialogues,
    ),
)
