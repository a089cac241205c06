"""Reads a run folder into a ``ReplyIndex``, in one pass over its records, and reports the progress."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import RunError
from rejoinder.scoring.fields import META
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.folder import DATA, SCORES, read_run_about
from rejoinder.scoring.reader import load_scores
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run_parts import list_run_parts
from rejoinder.scoring.texts import mean_rating_column, pause_garbage_collector
from rejoinder.server.pages.cache import WorkProgress
from rejoinder.server.pages.reply_index import Mask, RecordPlace, ReplyIndex, SliceColumn

_STEP = 5_000  # lines between two reports of the progress
_MAX_KEYS, _MAX_VALUES, _MAX_TEXT = 40, 5_000, 200  # of what ``meta`` holds; ids and free texts are not slices


@dataclass
class _Records:
    """What the lines of a run say, by id."""

    contexts: dict[str, str] = field(default_factory=dict)
    last_turns: dict[str, str] = field(default_factory=dict)
    dialogue_of_item: dict[str, str] = field(default_factory=dict)
    item_places: dict[str, RecordPlace] = field(default_factory=dict)
    replies: dict[str, str] = field(default_factory=dict)
    response_places: dict[str, RecordPlace] = field(default_factory=dict)
    ratings: dict[str, dict[str, list[tuple[str, float]]]] = field(default_factory=dict)
    meta: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)  # by kind and id

    def add(self, record: Mapping[str, Any], place: RecordPlace) -> None:
        kind = record["kind"]
        if record.get("meta") and kind in ("response", "item", "dialogue"):
            self.meta[kind, record["id"]] = record["meta"]
        if kind == "response":
            self.replies[record["id"]] = record["text"]
            self.response_places[record["id"]] = place
        elif kind == "item":
            turns = record["context"]
            lines = [f"{turn['speaker']}: {turn['text']}" if "speaker" in turn else turn["text"] for turn in turns]
            self.contexts[record["id"]] = "\n".join(lines)
            self.last_turns[record["id"]] = turns[-1]["text"] if turns else ""
            self.item_places[record["id"]] = place
            if record.get("dialogue"):
                self.dialogue_of_item[record["id"]] = record["dialogue"]
        elif kind == "rating" and record.get("response") is not None:
            by_reply = self.ratings.setdefault(record["aspect"], {})
            by_reply.setdefault(record["response"], []).append((record["rater"], record["value"]))


def read_reply_index(folder: Path, progress: WorkProgress) -> ReplyIndex:
    """Read a run; later pages need no more than the index and single records."""
    about = read_run_about(folder)
    progress.report("reading the scores", 0.02)
    with pause_garbage_collector():
        scores = load_scores(folder, about)
        records = _read_records(folder, progress)
        try:
            index = _make_index(scores, [one["name"] for one in about["inputs"]], records, _read_flags(folder, scores))
        except KeyError as error:
            raise RunError(f"the data of the run has no record {error}; score the input again") from None
        progress.report("preparing the search", 0.9)
        _ = index.folded, index.numbers
    gc.freeze()  # the collector would otherwise walk through all of it, a tenth of a second every now and then
    return index


def _read_records(folder: Path, progress: WorkProgress) -> _Records:
    records = _Records()
    paths = [part / DATA for part in list_run_parts(folder)]
    whole, done = sum(path.stat().st_size for path in paths if path.is_file()) or 1, 0
    for path in paths:
        try:
            with path.open("rb", buffering=2**20) as file:
                start = 0
                for number, line in enumerate(file):
                    records.add(orjson.loads(line), RecordPlace(path, start, len(line)))
                    start += len(line)
                    if number % _STEP == 0:
                        progress.report("reading the replies", 0.4 + 0.4 * (done + start) / whole)
                done += start
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path}: cannot be read ({error}); the run is damaged: score the input again") from None
    return records


def _make_index(scores: Scores, inputs: Sequence[str], records: _Records, flags: Mapping[str, Mask]) -> ReplyIndex:
    items = {item: number for number, item in enumerate(dict.fromkeys(scores.items))}
    return ReplyIndex(
        scores,
        inputs,
        [records.replies[one] for one in scores.responses],
        [records.contexts[one] for one in items],
        [records.last_turns[one] for one in items],
        list(items),
        np.array([items[one] for one in scores.items], dtype=np.int64),
        {aspect: mean_rating_column(given, scores.responses) for aspect, given in records.ratings.items()},
        flags,
        _make_slices(scores, records),
        [records.response_places[one] for one in scores.responses],
        [records.item_places[one] for one in items],
    )


def _read_flags(folder: Path, scores: Scores) -> dict[str, Mask]:
    """Which replies have which flag, of the flags that occur."""
    flags: dict[str, Mask] = {}
    row = 0
    for part in list_run_parts(folder):
        with (part / SCORES).open("rb", buffering=2**20) as file:
            for line in file:
                if b'"flags"' in line:
                    for flag in orjson.loads(line).get("flags", ()):
                        flags.setdefault(flag, np.zeros(len(scores), dtype=bool))[row] = True
                row += 1
    return {flag: flags[flag] for flag in [*MEANINGS, *flags] if flag in flags}


def _make_slices(scores: Scores, records: _Records) -> dict[str, SliceColumn]:
    """What ``meta`` of the response holds, else of its item, else of its dialogue, by key."""
    rows: dict[str, list[int]] = {}
    codes: dict[str, list[int]] = {}
    known: dict[str, dict[str, int]] = {}
    if not records.meta:
        return {}
    for row, (response, item) in enumerate(zip(scores.responses, scores.items, strict=True)):
        for key, value in _meta_of(records, response, item).items():
            for text in _slice_texts(value):
                values = known.setdefault(key, {})
                if len(known) <= _MAX_KEYS and len(values) <= _MAX_VALUES:
                    rows.setdefault(key, []).append(row)
                    codes.setdefault(key, []).append(values.setdefault(text, len(values)))
    return {
        META + key: SliceColumn(
            list(known[key]), np.array(rows[key], dtype=np.int64), np.array(codes[key], dtype=np.int64)
        )
        for key in rows
        if 0 < len(known[key]) <= _MAX_VALUES
    }


def _meta_of(records: _Records, response: str, item: str) -> dict[str, Any]:
    dialogue = records.dialogue_of_item.get(item, "")
    merged: dict[str, Any] = {}
    for key in (("dialogue", dialogue), ("item", item), ("response", response)):
        merged.update(records.meta.get(key, {}))
    return merged


def _slice_texts(value: Any) -> Iterator[str]:
    """The slices that a value belongs to; objects and long texts belong to none."""
    if isinstance(value, list):
        for member in value:
            yield from () if isinstance(member, list) else _slice_texts(member)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, int | float):
        yield f"{value:g}"
    elif isinstance(value, str) and 0 < len(value) <= _MAX_TEXT:
        yield value
