"""What a run could not score, and why; what was flagged, with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.reports.findings import Findings, JudgeOutcomes
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.result import Scores
from rejoinder.table import Cell, Table
from rejoinder.types import Pair

_EXAMPLES = 5


@dataclass(frozen=True)
class FlagCount:
    """A flag that was raised: what it means, how often, and the first replies that have it."""

    name: str
    meaning: str
    n: int
    examples: Sequence[Pair]


def missing_table(findings: Findings) -> Table:
    """A line a metric: how many replies have a score, how many have none, and the reasons."""
    rows: list[list[Cell]] = []
    for spec, column in findings.scores.values.items():
        missing = int(np.isnan(column).sum())
        told = explain_missing(findings.scores, findings.data, spec, findings.outcomes) or None
        rows.append([spec, len(column) - missing, missing, told])
    return Table("Replies with and without a score", ["metric", "scored", "missing", "why"], rows)


def explain_missing(scores: Scores, data: Collection, spec: str, outcomes: JudgeOutcomes) -> str:
    """Why replies have no score under a metric, with numbers; empty where all have one."""
    needs = scores.facts[spec].needs
    reasons: Counter[str] = Counter()
    for i in np.flatnonzero(np.isnan(scores[spec])).tolist():
        outcome = outcomes.get((spec, scores.responses[i]))
        own = f"with no answer but {outcome} ones" if outcome else None
        reasons[own or _missing_reason(data.pair(scores.responses[i]), needs)] += 1
    return "; ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())


def _missing_reason(pair: Pair, needs: frozenset[str]) -> str:
    if not pair.response.text.strip():
        return "empty replies"
    for part in sorted(needs):
        if not getattr(pair.item, part):
            return f"without {part}"
    return "on which the metric has nothing to say"


def count_flags(findings: Findings) -> list[FlagCount]:
    """Every flag that was raised, in the order of their meanings."""
    raised = []
    for name, meaning in MEANINGS.items():
        responses = [response for response, flags in findings.flags.items() if name in flags]
        if responses:
            examples = [findings.data.pair(response) for response in responses[:_EXAMPLES]]
            raised.append(FlagCount(name, meaning, len(responses), examples))
    return raised


def matched_table(findings: Findings) -> Table | None:
    """How often each metric's best match was a reference of which source; None where the run does not say."""
    scores, items = findings.scores, findings.data.items
    counts: dict[str, Counter[str]] = {}
    for spec, places in scores.matched.items():
        named = zip(scores.items, places, strict=True)
        counts[spec] = Counter(items[item].references[at].source for item, at in named if at is not None)
    sources = sorted({source for count in counts.values() for source in count})
    if not sources:
        return None
    rows: list[list[Cell]] = [[spec, *(count[source] for source in sources)] for spec, count in counts.items()]
    held = Counter(reference.source for item in items.values() for reference in item.references)
    rows.append(["references there are", *(held[source] for source in sources)])
    notes = ["How many replies matched a reference of which source best: the one that gives the highest score alone."]
    return Table("Where the matched references come from", ["metric", *sources], rows, notes)
