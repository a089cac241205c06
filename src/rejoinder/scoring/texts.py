"""The texts and ratings behind scores: what each reply says, the turns before it, its references, what people gave it.

They are taken from the collection that was scored, or read from ``data.jsonl`` of a run folder: whole records are not
built from its lines, which were checked when they were written, so that a million replies take seconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, RunError
from rejoinder.scoring.folder import DATA
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run_parts import list_run_parts
from rejoinder.types import Turn

_Text = TypeVar("_Text")
AGGREGATE = "aggregate:"  # a rater whose name starts like this is not a person: the rest is the method
JUDGE = "judge:"  # nor is this one: the rest is the model that was asked for a preference


class ReplyTexts(NamedTuple):
    """Columns in the order of the scores; ``ratings`` holds the mean rating in each aspect, ``nan`` where nobody rated.

    A context is one text: a line per turn, with the speaker before it where the data names one.
    """

    contexts: Sequence[str]
    replies: Sequence[str]
    references: Sequence[Sequence[str]] | None
    ratings: dict[str, NDArray[np.float64]]


@dataclass
class _Texts:
    """Texts of items and responses beside their ids, and the values of all ratings by aspect and response."""

    items: list[str] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)
    references: list[list[str]] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    ratings: dict[str, dict[str, list[tuple[str, float]]]] = field(default_factory=dict)

    def rate(self, aspect: str, response: str | None, rater: str, value: float) -> None:
        if response is not None:
            self.ratings.setdefault(aspect, {}).setdefault(response, []).append((rater, value))


def read_texts(scores: Scores, references: bool = False) -> ReplyTexts:
    """Return the texts and mean ratings of all replies, with their references if wanted."""
    if scores.data is None:
        raise InputError("these scores came without their texts; load the run folder, or score the data again")
    with pause_garbage_collector():
        texts = (
            _collect_texts(scores.data, references)
            if isinstance(scores.data, Collection)
            else _read_run_texts(scores.data, references)
        )
        try:
            return ReplyTexts(
                _select_texts(scores.items, texts.items, texts.contexts),
                _select_texts(scores.responses, texts.responses, texts.replies),
                _select_texts(scores.items, texts.items, texts.references) if references else None,
                {aspect: mean_rating_column(by_reply, scores.responses) for aspect, by_reply in texts.ratings.items()},
            )
        except KeyError as error:
            raise RunError(f"the data of the run has no record {error}; score the input again") from None


def _select_texts(wanted: Sequence[str], ids: Sequence[str], texts: Sequence[_Text]) -> Sequence[_Text]:
    """Return the texts with some ids; they are mostly in the same order already."""
    if ids == wanted:
        return texts
    by_id = dict(zip(ids, texts, strict=True))
    return [by_id[one] for one in wanted]


def format_context(turns: Iterable[Turn]) -> str:
    """Return the turns as one text, a line each, with the speaker before it where there is one."""
    return "\n".join(f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in turns)


def _collect_texts(data: Collection, references: bool) -> _Texts:
    texts = _Texts(
        list(data.items),
        [format_context(item.context) for item in data.items.values()],
        [[r.text for r in item.references] for item in data.items.values()] if references else [],
        list(data.responses),
        [response.text for response in data.responses.values()],
    )
    for one in data.ratings:
        texts.rate(one.aspect, one.response, one.rater, one.value)
    return texts


def _read_run_texts(folder: Path, references: bool) -> _Texts:
    texts = _Texts()
    for part in list_run_parts(folder):
        path = part / DATA
        try:
            with path.open("rb", buffering=2**20) as file:
                _read_lines(file, texts, references)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{path}: cannot be read ({error}); the run is damaged: score the input again") from None
    return texts


def _read_lines(file: Iterable[bytes], texts: _Texts, references: bool) -> None:
    loads = orjson.loads
    add_item, add_context = texts.items.append, texts.contexts.append
    add_response, add_reply = texts.responses.append, texts.replies.append
    for line in file:
        record = loads(line)
        kind = record["kind"]
        if kind == "response":
            add_response(record["id"])
            add_reply(record["text"])
        elif kind == "item":
            add_item(record["id"])
            add_context(
                "\n".join(
                    [
                        f"{turn['speaker']}: {turn['text']}" if "speaker" in turn else turn["text"]
                        for turn in record["context"]
                    ]
                )
            )
            if references:
                texts.references.append([_reference_text(one) for one in record.get("references", ())])
        elif kind == "rating":
            texts.rate(record["aspect"], record.get("response"), record["rater"], record["value"])


def _reference_text(reference: Any) -> str:
    text: str = reference if isinstance(reference, str) else reference["text"]
    return text


def mean_rating_column(by_reply: dict[str, list[tuple[str, float]]], responses: Sequence[str]) -> NDArray[np.float64]:
    """Return the mean rating of each response in one aspect, from its raters and values; NaN where nobody rated it."""
    means = {response: _mean_rating(given) for response, given in by_reply.items()}
    return np.array([means.get(response, np.nan) for response in responses], dtype=np.float64)


def _mean_rating(given: Sequence[tuple[str, float]]) -> float:
    """The mean of what people gave, or of what was aggregated from it."""
    aggregated = [value for rater, value in given if rater.startswith(AGGREGATE)]
    values = aggregated or [value for _, value in given]
    return float(np.mean(values))


@contextmanager
def pause_garbage_collector() -> Iterator[None]:
    """Pause Python's search for garbage: millions of new strings would be searched again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
