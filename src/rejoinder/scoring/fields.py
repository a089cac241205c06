"""What can be said of a reply by name, one column each: scores, ratings, lengths, its system, what ``meta`` holds.

Names: a metric's spec; ``rating:ASPECT``, or ``rating`` where there is one aspect; ``length`` (words of the reply);
``turns`` (of the context); ``system``, ``item``, ``dialogue``, ``response``; ``meta.KEY`` of the response, else of its
item, else of its dialogue.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, RejoinderError, nearest
from rejoinder.scoring.frames import RATING
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Scores
from rejoinder.scoring.texts import ReplyTexts, read_texts
from rejoinder.text.tokens import get_tokenizer

META = "meta."
_FILE_SIGNS = frozenset("/\\:")
PLAIN = ("length", "turns", "system", "item", "dialogue", "response")


def load_collection(scores: Scores) -> Collection:
    """Return the data behind scores: the collection that was scored, or that of the run folder."""
    if scores.data is None:
        raise InputError("these scores came without their data; load the run folder, or score the data again")
    return scores.data if isinstance(scores.data, Collection) else load_data(scores.data)


class ReplyFields:
    """The columns of some scores by name; computed when they are first asked for."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores
        self._columns: dict[str, NDArray[Any]] = {}

    @functools.cached_property
    def texts(self) -> ReplyTexts:
        """What the replies and their contexts say, and how they were rated."""
        return read_texts(self.scores)

    @functools.cached_property
    def data(self) -> Collection:
        """The whole records, which take longer to read than the texts alone."""
        return load_collection(self.scores)

    def column(self, name: str) -> NDArray[Any]:
        """Return the column of a name: numbers with ``nan``, or objects with None where there is no value."""
        if name not in self._columns:
            self._columns[name] = self._compute(name)
        return self._columns[name]

    def metric(self, name: str) -> str | None:
        """Return the spec of the metric that a name stands for; None if it stands for something else."""
        if name in self.scores.facts:
            return name
        if name in PLAIN or name == "rating" or name.startswith((META, RATING)):
            return None
        try:
            if not _FILE_SIGNS & set(name):  # it may come over HTTP, where a name should open no file
                return self.scores.spec(name)
        except RejoinderError:
            pass
        if name in self.meta_keys:
            return None
        raise InputError(f"{name!r} is not known; {nearest(name, self.names())}")

    def has(self, name: str) -> bool:
        """Return whether a name stands for something here."""
        try:
            return self.metric(name) is not None or name in self.names() or name in self.meta_keys
        except InputError:
            return False

    @property
    def ratings(self) -> Mapping[str, NDArray[np.float64]]:
        """The mean rating of each reply, by aspect."""
        return self.texts.ratings

    def names(self) -> list[str]:
        """Return all names that have a column here, to suggest one of them."""
        ratings = [RATING + aspect for aspect in self.ratings]
        return [*self.scores.facts, *ratings, *PLAIN, *(META + key for key in self.meta_keys)]

    @functools.cached_property
    def meta_keys(self) -> list[str]:
        """The keys of ``meta`` of the responses, items and dialogues."""
        records: list[Any] = [*self.data.responses.values(), *self.data.items.values(), *self.data.dialogues.values()]
        return list(dict.fromkeys(key for record in records for key in record.meta))

    def _compute(self, name: str) -> NDArray[Any]:
        spec = self.metric(name)
        if spec is not None:
            return self.scores[spec]
        if name == "rating" or name.startswith(RATING):
            return self._rating(name)
        if name.startswith(META):
            return self._meta(name.removeprefix(META))
        return self._plain(name) if name in PLAIN else self._meta(name)

    def _rating(self, name: str) -> NDArray[Any]:
        aspects = list(self.ratings)
        if not aspects:
            raise InputError(f"nobody rated the replies, so there is no {name!r}; score a file that has ratings")
        if name == "rating":
            if len(aspects) > 1:
                known = ", ".join(RATING + aspect for aspect in aspects)
                raise InputError(f"replies were rated in several aspects; write one of {known}")
            return self.ratings[aspects[0]]
        aspect = name.removeprefix(RATING)
        if aspect not in self.ratings:
            raise InputError(f"nobody rated replies in the aspect {aspect!r}; {nearest(aspect, aspects)}")
        return self.ratings[aspect]

    def _plain(self, name: str) -> NDArray[Any]:
        scores = self.scores
        if name == "length":
            words_of = get_tokenizer("words")
            return np.array([float(len(words_of(reply))) for reply in self.texts.replies])
        if name == "turns":
            return np.array([float(len(self.data.items[item].context)) for item in scores.items])
        if name == "system":
            return _as_objects([scores.systems[code] for code in scores.system_codes])
        if name == "dialogue":
            return _as_objects([scores.dialogues[code] if code >= 0 else None for code in scores.dialogue_codes])
        return _as_objects(scores.items if name == "item" else scores.responses)

    def _meta(self, key: str) -> NDArray[Any]:
        column = _as_objects([self._meta_value(response, key) for response in self.scores.responses])
        if all(value is None for value in column):
            raise InputError(f"no reply has {META}{key}; {nearest(key, self.meta_keys)}")
        return column

    def _meta_value(self, response: str, key: str) -> Any:
        pair = self.data.pair(response)
        dialogue = self.data.dialogues.get(pair.item.dialogue or "")
        for record in (pair.response, pair.item, dialogue):
            value = None if record is None else _look_up(record.meta, key)
            if value is not None:
                return value
        return None


def _look_up(meta: Mapping[str, Any], key: str) -> Any:
    """The value of a key; a key with dots may be a path through nested objects."""
    if key in meta:
        return meta[key]
    first, dot, rest = key.partition(".")
    nested = meta.get(first)
    return _look_up(nested, rest) if dot and isinstance(nested, Mapping) else None


def _as_objects(values: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))
