"""The rated rows of the six relevance columns, each with its system (if known) and its dialogue or context.

The rows of the IDK paper do not say which system wrote a reply. USR and FED published the same replies with that: a row
is joined to those that have the same reply, the same context (or, where the row was cut at 512 tokens, one that begins
with it) and the same mean rating. Where two systems gave the same reply, nobody can say whose row it is: it stays
unknown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.types import Pair, Turn

FIVE = ("HUMOD", "USR-TC", "P-DD", "FED-cor", "FED-rel")  # the columns of the IDK paper
GUPTA = "Gupta 500"
SIX = (*FIVE, GUPTA)
UNKNOWN = "unknown"
_SAME_RATING = 0.01  # the rows print USR's means of three ratings with two or three decimals


@dataclass(frozen=True)
class RelevanceColumn:
    """One column: its set, the aspect rated, the set that knows the systems, and the seed of its resamples."""

    name: str
    dataset: str
    aspect: str
    twin: str | None
    seed: int


# FED's two columns rate the same replies, so they share a seed: their resamples draw the same rows.
COLUMNS = (
    RelevanceColumn("HUMOD", "idk/humod", "relevance", None, 0),
    RelevanceColumn("USR-TC", "idk/usr", "maintains-context", "usr/topical_chat", 1),
    RelevanceColumn("P-DD", "idk/pdd", "relevance", None, 2),
    RelevanceColumn("FED-cor", "idk/fed-correct", "correct", "fed/turn", 3),
    RelevanceColumn("FED-rel", "idk/fed-relevant", "relevant", "fed/turn", 3),
    RelevanceColumn(GUPTA, "gupta/single", "appropriate", None, 4),
)


@dataclass(frozen=True)
class RelevanceRows:
    """A column's rows: replies with their system where it is known, and the dialogue (or context) of each."""

    column: RelevanceColumn
    data: Collection
    units: Mapping[str, str]

    @property
    def n_joined(self) -> int:
        """The number of rows whose system is known."""
        return sum(response.system != UNKNOWN for response in self.data.responses.values())


def read_relevance_rows(column: RelevanceColumn) -> RelevanceRows:
    """The rows of a column."""
    data = read(f"dataset:{column.dataset}")
    if column.twin is None:
        return RelevanceRows(column, data, {p.response.id: p.item.dialogue or p.item.id for p in data.pairs()})
    return join_systems(column, data, read(f"dataset:{column.twin}", allow_empty=True))


def join_systems(column: RelevanceColumn, data: Collection, twin: Collection) -> RelevanceRows:
    """Return the rows with the systems and dialogues that another set with the same replies knows."""
    rated = {rating.response: rating.value for rating in data.ratings}
    means = _mean_ratings(twin, column.aspect)
    by_reply: dict[str, list[Pair]] = {}
    for pair in twin.pairs():
        by_reply.setdefault(_bert_letters(pair.response.text), []).append(pair)
    joined, units = {}, {}
    for pair in data.pairs():
        name = pair.response.id
        matches = [
            other
            for other in by_reply.get(_bert_letters(pair.response.text), ())
            if _same_context(pair, other) and abs(means.get(other.response.id, -1) - rated[name]) < _SAME_RATING
        ]
        systems = {other.response.system for other in matches}
        joined[name] = replace(pair.response, system=systems.pop() if len(systems) == 1 else UNKNOWN)
        where = matches[0].item if matches else pair.item
        units[name] = where.dialogue or where.id
    return RelevanceRows(column, replace(data, responses=joined), units)


def _mean_ratings(data: Collection, aspect: str) -> dict[str, float]:
    values_by_response: dict[str, list[float]] = {}
    for rating in data.ratings:
        if rating.aspect == aspect and rating.response is not None:
            values_by_response.setdefault(rating.response, []).append(rating.value)
    return {response: sum(values) / len(values) for response, values in values_by_response.items()}


def _same_context(row: Pair, other: Pair) -> bool:
    cut, whole = (_bert_letters(_context_text(pair.item.context)) for pair in (row, other))
    return whole.startswith(cut) if row.item.meta.get("end_cut") else whole == cut


def _context_text(turns: Sequence[Turn]) -> str:
    return " ".join(turn.text for turn in turns)


def _bert_letters(text: str) -> str:
    """The letters and digits of a text, as BERT's tokeniser leaves them: lower-case, without accents."""
    plain = unicodedata.normalize("NFD", text.replace("[UNK]", "").lower())
    return "".join(c for c in plain if c.isalnum())
