"""Rated responses and dialogues as in DSTC10 track 5 (Zhang et al. 2021), and in FED and USR, which it includes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _rows as cells
from rejoinder.data.importers._files import files, read_json_values
from rejoinder.data.importers._ids import IdAssigner, ResponsePlacer, content_digest
from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import suggest_import
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Item, Rating, Record, Reference, Response, Statement, Turn

_LABEL = re.compile(r"\s*(User|System|Human|Model|Bot)\s*:\s*", re.IGNORECASE)


class Judgement(NamedTuple):
    """One person's rating in one aspect."""

    aspect: str
    rater: str
    value: float


def parse_transcript(value: Any, column: str, place: Place) -> tuple[Turn, ...]:
    """Return the turns of a text, one per line, or of a list; a name before every line becomes the speaker."""
    if not isinstance(value, str):
        turns = cells.parse_turns(value, column, place, None)
        return tuple(Turn(turn["text"], turn.get("speaker")) for turn in turns)
    lines = [line.strip() for line in value.split("\n") if line.strip()]
    labels = [_LABEL.match(line) for line in lines]
    if all(label is not None and label.end() < len(line) for label, line in zip(labels, lines, strict=True)):
        return tuple(Turn(line[m.end() :], m[1]) for line, m in zip(lines, labels, strict=True) if m)
    return tuple(Turn(line) for line in lines)


def parse_response(value: Any, column: str, place: Place, context: Sequence[Turn]) -> str | None:
    """Return a reply, without the name before it if the context has names too; None if it is blank."""
    text = cells.parse_text(value, column, place)
    if text is None:
        return None
    label = _LABEL.match(text) if context and context[0].speaker is not None else None
    return (text[label.end() :] if label else text).strip() or None


def parse_ratings(annotations: Any, raters: Any, place: Place, tally: ImportTally) -> Iterator[Judgement]:
    """Yield the ratings of each aspect: a list with one value per rater, or a single value."""
    if annotations is None:
        return
    if not isinstance(annotations, dict):
        raise InputError(
            f"{place}: 'annotations' is {brief(annotations)}; it must be an object with one list per aspect"
        )
    names = [name for name in raters if isinstance(name, str) and name.strip()] if isinstance(raters, list) else []
    for aspect, values in annotations.items():
        if not aspect.strip():
            raise InputError(f"{place}: an aspect in 'annotations' has no name")
        values = values if isinstance(values, list) else [values]
        for position, value in enumerate(values):
            number = _parse_number(value, aspect, place)
            if number is None:
                tally.left_out["ratings that are not numbers"] += 1
                continue
            rater = names[position] if len(names) == len(values) else f"rater-{position + 1}"
            yield Judgement(aspect.strip().lower().replace(" ", "-"), rater, number)


def _parse_number(value: Any, aspect: str, place: Place) -> float | None:
    if value is None or isinstance(value, str):
        try:
            number = float(value or "nan")
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return cells.parse_number(value, aspect, place)


SUMMARY = "rated responses and dialogues in the JSON of DSTC10 track 5, of FED and of USR"
TAKES = frozenset({"system", "empty", "max_turns"})
_ID = ("dialogue_id", "dialog_id", "id")
_SYSTEM = ("model", "system")
_DIALOGUE = ("dialog", "dialogue", "context")
_REFERENCE = ("reference", "references")
_NO_FACT = "_nofact"


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield an item, its responses and their ratings, or a dialogue and its ratings, per entry."""
    reader = _Reader(options, tally)
    for file in files(path, (".json", ".jsonl"), tally):
        for place, value in read_json_values(file):
            if not isinstance(value, dict):
                raise InputError(f"{place}: expected an object with 'context' and 'response', found {brief(value)}")
            convert = reader.responses if "response" in value or "responses" in value else reader.dialogue
            for record in convert(value, place, file.stem):
                yield ImportedRecord(record, place)


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Turns entries into records, and remembers the entries so far."""

    options: ImportOptions
    tally: ImportTally
    items: IdAssigner = dataclasses.field(default_factory=IdAssigner)
    dialogues: IdAssigner = dataclasses.field(default_factory=IdAssigner)
    replies: ResponsePlacer = dataclasses.field(default_factory=ResponsePlacer)

    def dialogue(self, value: dict[str, Any], place: Place, stem: str) -> Iterator[Record]:
        """Yield a rated dialogue and its ratings."""
        key, transcript = _first_present(value, _DIALOGUE)
        turns = parse_transcript(transcript, key, place)
        if not turns:
            keys = ", ".join(value) or "none"
            raise InputError(f"{place}: has no response and no dialogue (found keys: {brief(keys, 120)})")
        numbered = f"{stem}-{place.line}"
        name, _ = self.dialogues.assign(_first_text(value, _ID, place) or numbered, content_digest(numbered), numbered)
        system = _first_text(value, _SYSTEM, place)
        yield Dialogue(name, turns, stem, meta={"system": system} if system else {})
        for rating in parse_ratings(value.get("annotations"), value.get("annotators"), place, self.tally):
            yield Rating(rating.rater, rating.aspect, rating.value, dialogue=name)

    def responses(self, value: dict[str, Any], place: Place, stem: str) -> Iterator[Record]:
        """Yield a context and the response or responses to it, with their ratings."""
        base = _parse_item(value, place)
        content = content_digest(base.context, base.references, "".join(s.text for s in base.situation))
        for number, entry in enumerate(_parse_responses(value, place)):
            text = self._reply(entry, base.context, place)
            if text is None:
                continue
            system = self.options.system or _first_text(entry, _SYSTEM, place)
            if system is None:
                raise InputError(
                    f"{place}: neither 'model' nor 'system' says who wrote the reply; name the system: "
                    f"{suggest_import(place, '--system NAME', 'dstc10')}"
                )
            # A second reply of one system gets its own item, even with the same text: it has its own ratings.
            own, _ = self.replies.place(content, system, f"{stem} {place.line} {number}")
            name, new = self.items.assign(f"{stem}-{place.line}", own)
            if new:
                yield dataclasses.replace(base, id=name)
            response = Response(f"{name}/{system}", name, system, text)
            yield response
            for rating in parse_ratings(entry["annotations"], value.get("annotators"), place, self.tally):
                yield Rating(rating.rater, rating.aspect, rating.value, response=response.id)

    def _reply(self, entry: dict[str, Any], context: tuple[Turn, ...], place: Place) -> str | None:
        text = parse_response(entry.get("response"), "response", place, context)
        if text is None and self.options.empty == "error":
            raise InputError(
                f"{place}: the response is empty; keep such responses with --empty keep, or leave them out with: "
                f"{suggest_import(place, '--empty drop', 'dstc10')}"
            )
        if text is None and self.options.empty == "drop":
            self.tally.left_out["empty replies"] += 1
            return None
        return text or ""


def _parse_item(value: dict[str, Any], place: Place) -> Item:
    context = parse_transcript(value.get("context"), "context", place)
    if not context:
        raise InputError(f"{place}: the context is empty; fill it or remove the entry")
    key, reference = _first_present(value, _REFERENCE)
    references = dict.fromkeys(text.strip() for text in cells.parse_texts(reference, key, place))
    fact = cells.parse_text(value.get("fact"), "fact", place)
    situation = (Statement(fact.strip(), "fact"),) if fact and fact.strip() != _NO_FACT else ()
    dialogue = _first_text(value, _ID, place)
    return Item("", context, tuple(Reference(text) for text in references), situation=situation, dialogue=dialogue)


def _parse_responses(value: dict[str, Any], place: Place) -> list[dict[str, Any]]:
    """Return the responses of an entry, each with its annotations under that name."""
    if "response" in value:
        return [{**value, "annotations": value.get("annotations")}]
    entries = value["responses"]
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InputError(f"{place}: 'responses' is {brief(entries)}; it must be a list of objects")
    # In USR's own files the aspects are beside the response: every key with a list is an aspect.
    beside = ({key: ratings for key, ratings in one.items() if isinstance(ratings, list)} for one in entries)
    return [{"annotations": aspects, **one} for one, aspects in zip(entries, beside, strict=True)]


def _first_present(value: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, Any]:
    return next(((key, value[key]) for key in keys if value.get(key) is not None), (keys[0], None))


def _first_text(value: dict[str, Any], keys: tuple[str, ...], place: Place) -> str | None:
    key, present = _first_present(value, keys)
    text = cells.parse_text(present, key, place)
    return text.strip() if text is not None else None
