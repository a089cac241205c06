"""The table of replies in the report: a line per reply, which the page's script searches, filters and sorts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.reports.findings import RunFindings

MOST_ROWS = 1_000
_CONTEXT, _REPLY = 240, 600  # characters


@dataclass(frozen=True)
class ReplyRow:
    """One reply: texts, cut if long, its score under each metric, its mean rating in each aspect, and its flags."""

    response: str
    system: str
    context: str
    reply: str
    numbers: Sequence[float]
    flags: Sequence[str]


@dataclass(frozen=True)
class ReplyTable:
    """Rows, the names of their numbers, and a note where not all replies are there."""

    numbers: Sequence[str]
    rows: Sequence[ReplyRow]
    note: str

    @property
    def has_flags(self) -> bool:
        """Whether any reply is flagged."""
        return any(row.flags for row in self.rows)


def make_reply_table(findings: RunFindings) -> ReplyTable:
    """The replies in the order of the run; of a large run, those with the lowest scores."""
    scores = findings.scores
    ratings = {
        f"rating: {trust.evidence.aspect}": dict(
            zip(trust.evidence.responses, trust.evidence.mean.tolist(), strict=True)
        )
        for trust in findings.trusts
    }
    chosen, note = _choose_rows(findings)
    rows = [_make_row(findings, place, ratings) for place in chosen]
    return ReplyTable([*scores.metrics, *ratings], rows, note)


def _choose_rows(findings: RunFindings) -> tuple[list[int], str]:
    scores = findings.scores
    everything = list(range(len(scores)))
    if len(scores) <= MOST_ROWS:
        return everything, ""
    directions = {spec: scores.facts[spec].higher_is_better for spec in scores.metrics}
    spec = next((spec for spec, better in directions.items() if better is not None), next(iter(directions)))
    upward = -scores[spec] if directions[spec] is False else scores[spec]
    worst = np.argsort(upward, kind="stable")[:MOST_ROWS]  # missing scores are last
    note = (
        f"These are the {MOST_ROWS:,} of {len(scores):,} replies with the worst scores by {spec}; "
        "rejoinder serve shows all of them."
    )
    return sorted(worst.tolist()), note


def _make_row(findings: RunFindings, place: int, ratings: Mapping[str, Mapping[str, float]]) -> ReplyRow:
    scores = findings.scores
    response = scores.responses[place]
    pair = findings.data.pair(response)
    context = pair.item.context[-1].text if pair.item.context else ""
    numbers = [float(column[place]) for column in scores.values.values()]
    numbers += [by_response.get(response, math.nan) for by_response in ratings.values()]
    return ReplyRow(
        response,
        pair.response.system,
        _cut(context, _CONTEXT),
        _cut(pair.response.text, _REPLY),
        numbers,
        findings.flags.get(response, ()),
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
