"""Pairs of replies of which one was preferred: rows with a prompt, ``chosen`` and ``rejected``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.importer import ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._containers import ENDINGS, read_rows
from rejoinder.data.importers._files import files
from rejoinder.data.importers._ids import IdAssigner, content_digest
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._rows import is_prompt, parse_text, parse_turns
from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import find_aliases, suggest_score
from rejoinder.data.tables.detection import Sample
from rejoinder.data.tables.rating_columns import fold_name
from rejoinder.errors import InputError, SpecError, brief, nearest
from rejoinder.types import Item, Preference, Response, Turn

SUMMARY = "pairs of replies of which one was preferred: prompt, chosen, rejected (CSV, JSON, Parquet, spreadsheets)"
TAKES = frozenset({"fields", "separator", "rater", "max_turns", "sheet", "markup"})
EQUAL_REPLIES = "pairs of two equal replies"
REPEATED_ROWS = "rows that repeat another"
EMPTY_REPLIES = "pairs with an empty reply"
_NAMES = {
    "chosen": ("chosen", "preferred", "preferred_output", "winner_response"),
    "rejected": ("rejected", "non_preferred_output", "nonpreferred", "loser_response"),
    "rater": ("rater", "annotator"),
    "first_system": ("chosen_model", "chosen_system"),
    "second_system": ("rejected_model", "rejected_system"),
}
_FIELDS = ("context", "id", "dialogue", *_NAMES)
_SPEAKERS = re.compile(r"(?:\A|\n\n)\s*(Human|Assistant|User|H|A):[ \t]?")


class _Pair(NamedTuple):
    """A row: what was said before, the reply that was chosen, and the one that was not."""

    context: list[dict[str, str]]
    chosen: str | None
    rejected: str | None


def recognise(sample: Sample) -> bool:
    """Whether a table has columns of chosen and of rejected replies."""
    columns = _find_columns(sample.header or sample.keys)
    return "chosen" in columns and "rejected" in columns


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield an item for each row, its two replies as responses of two systems, and the preference."""
    named = _check_fields(options.fields)
    ids = IdAssigner()
    stripper = MarkupStripper(options, tally)
    for file in [options.file] if options.file else files(path, ENDINGS, tally):
        for place, row in read_rows(file, options):
            columns = {field: name for field, name in {**_find_columns(row), **named}.items() if name}
            _check_columns(columns, row, place)
            tally.note_columns({column: field for field, column in columns.items()})
            tally.unused.update(set(row) - set(columns.values()))
            for record in _convert_row(row, columns, place, options, stripper, ids):
                yield ImportedRecord(record, place)


def _find_columns(names: Any) -> dict[str, str]:
    """Return the column of each field, by its name; a context in two columns is left to the user."""
    known = {fold_name(alias): field for field, aliases in _NAMES.items() for alias in aliases}
    columns = {known[fold_name(name)]: name for name in names if fold_name(name) in known}
    others = find_aliases(names)
    return columns | {
        field: others[field][0] for field in ("context", "id", "dialogue") if len(others.get(field, ())) == 1
    }


def _check_fields(fields: tuple[tuple[str, str], ...]) -> dict[str, str]:
    for ours, _ in fields:
        if ours not in _FIELDS:
            raise SpecError(f"--field {ours}= is not a field of preferences; {nearest(ours, _FIELDS)}")
    return dict(fields)


def _check_columns(columns: Mapping[str, str], row: Mapping[str, Any], place: Place) -> None:
    listing = f"found: {brief(', '.join(row), 120)}"
    for field in ("chosen", "rejected"):
        if field not in columns:
            raise InputError(
                f"{place}: no column holds the {field} reply ({listing}); name it with --field {field}=COLUMN"
            )
    for field, column in columns.items():
        if column not in row and field in ("chosen", "rejected", "context"):
            raise InputError(f"{place}: has no column {column!r}; {nearest(column, row)}")
    contexts = find_aliases(row).get("context", [])
    if "context" not in columns and len(contexts) > 1:
        raise InputError(
            f"{place.file}: {len(contexts)} columns could hold the context: {', '.join(contexts)} ({listing}); choose "
            f"with: {suggest_score(place, f'--field context={contexts[0]}')}"
        )


def _convert_row(
    row: Mapping[str, Any],
    columns: Mapping[str, str],
    place: Place,
    options: ImportOptions,
    stripper: MarkupStripper,
    ids: IdAssigner,
) -> Iterator[Item | Response | Preference]:
    def cell(field: str) -> str | None:
        return parse_text(row.get(columns[field]), columns[field], place) if field in columns else None

    tally = stripper.tally
    pair = _parse_pair(row, columns, place, options.separator, stripper)
    if not pair.chosen or not pair.rejected:
        tally.left_out[EMPTY_REPLIES] += 1
        return
    if pair.chosen == pair.rejected:
        tally.left_out[EQUAL_REPLIES] += 1
        return
    context = tuple(Turn(turn["text"], turn.get("speaker")) for turn in pair.context if not is_prompt(turn))
    prompt = "\n".join(turn["text"] for turn in pair.context if is_prompt(turn))
    content = content_digest(context)
    # Several pairs for one context are several items: a system has one reply to an item.
    own = content_digest(context, cell("id") or "", pair.chosen, pair.rejected)
    name, new = ids.assign(cell("id") or content.hex()[:12], own)
    if not new:
        tally.left_out[REPEATED_ROWS] += 1
        return
    meta = {"system_prompt": prompt} if prompt else {}
    yield Item(name, context, dialogue=cell("dialogue"), meta=meta)
    first, second = cell("first_system") or "chosen", cell("second_system") or "rejected"
    if first == second:
        first, second = f"{first} (chosen)", f"{second} (rejected)"
    chosen = Response(f"{name}/{first}", name, first, pair.chosen)
    rejected = Response(f"{name}/{second}", name, second, pair.rejected)
    yield chosen
    yield rejected
    yield Preference(name, chosen.id, rejected.id, cell("rater") or options.rater or "user", "first")


def _parse_pair(
    row: Mapping[str, Any], columns: Mapping[str, str], place: Place, separator: str | None, stripper: MarkupStripper
) -> _Pair:
    context = (
        parse_turns(row.get(columns["context"]), columns["context"], place, separator) if "context" in columns else []
    )
    (before, chosen), (other, rejected) = (
        _parse_reply(row.get(columns[field]), columns[field], place) for field in ("chosen", "rejected")
    )
    context, before, other = (stripper.turns(turns) for turns in (context, before, other))
    chosen, rejected = (stripper.reply(text) if text else text for text in (chosen, rejected))
    if before != other:
        raise InputError(
            f"{place}: the chosen and the rejected conversation differ before their last message; "
            "a preference is between two replies to one context"
        )
    if context[: len(before)] == before or before[: len(context)] == context:
        context = max(context, before, key=len)  # the conversation repeats the prompt
    else:
        context = context + before
    return _Pair(context, chosen, rejected)


def _parse_reply(value: Any, column: str, place: Place) -> tuple[list[dict[str, str]], str | None]:
    """Return what a cell says before the reply, and the reply: a text, messages, or a transcript with speakers."""
    if isinstance(value, list | Mapping) or (isinstance(value, str) and value.lstrip().startswith("[{")):
        turns = parse_turns(value, column, place, None)
        return turns[:-1], turns[-1]["text"] if turns else None
    text = parse_text(value, column, place)
    parts = _SPEAKERS.split(text or "")
    if len(parts) > 3 and not parts[0].strip():  # "Human: ... Assistant: ...", at least two turns
        pairs = zip(parts[1::2], parts[2::2], strict=True)
        turns = [{"speaker": _SPEAKER_NAMES[who], "text": said.strip()} for who, said in pairs if said.strip()]
        return turns[:-1], turns[-1]["text"] if turns else None
    return [], text


_SPEAKER_NAMES = {"Human": "user", "User": "user", "H": "user", "Assistant": "assistant", "A": "assistant"}
