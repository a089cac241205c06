"""What a run could not score and why, and which replies were flagged, with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.data.parts import PART_NAMES, read_part
from rejoinder.reports.findings import JudgeOutcomes, RunFindings
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.result import Scores
from rejoinder.table import Cell, Table
from rejoinder.types import Pair

_EXAMPLES = 5


@dataclass(frozen=True)
class FlagCount:
    """A flag: what it means, how many replies have it, and the first of them."""

    name: str
    meaning: str
    n: int
    examples: Sequence[Pair]


def missing_table(findings: RunFindings) -> Table:
    """One line per metric: how many replies have a score, how many have none, and why."""
    rows: list[list[Cell]] = []
    for spec, column in findings.scores.values.items():
        units = findings.scores.unit_rows(spec)
        missing = int(np.isnan(column[units]).sum())
        reasons = explain_missing_scores(findings.scores, findings.data, spec, findings.outcomes) or None
        rows.append([spec, int(units.sum()) - missing, missing, reasons])
    return Table("Replies with and without a score", ["metric", "scored", "missing", "why"], rows)


def explain_missing_scores(scores: Scores, data: Collection, spec: str, outcomes: JudgeOutcomes) -> str:
    """Why replies have no score under a metric, with numbers; empty where all have one."""
    needs = scores.facts[spec].needs
    reasons: Counter[str] = Counter()
    for i in np.flatnonzero(np.isnan(scores[spec]) & scores.unit_rows(spec)).tolist():
        outcome = outcomes.get((spec, scores.responses[i]))
        judge_reason = f"with only {outcome} answers" if outcome else None
        reasons[judge_reason or _missing_reason(data.pair(scores.responses[i]), needs)] += 1
    return "; ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())


def _missing_reason(pair: Pair, needs: frozenset[str]) -> str:
    if not pair.response.text.strip():
        return "empty replies"
    for part in sorted(needs):
        if not read_part(pair, part):
            return f"without {PART_NAMES.get(part, part)}"
    return "that the metric does not score"


def count_flags(findings: RunFindings) -> list[FlagCount]:
    """Every flag that some reply has, in a fixed order."""
    counts = []
    for name, meaning in MEANINGS.items():
        responses = [response for response, flags in findings.flags.items() if name in flags]
        if responses:
            examples = [findings.data.pair(response) for response in responses[:_EXAMPLES]]
            counts.append(FlagCount(name, meaning, len(responses), examples))
    return counts


def matched_table(findings: RunFindings) -> Table | None:
    """How often each metric's best match was a reference from each source; None where the run did not record it."""
    scores, items = findings.scores, findings.data.items
    counts: dict[str, Counter[str]] = {}
    for spec, places in scores.matched.items():
        matches = zip(scores.items, places, strict=True)
        counts[spec] = Counter(items[item].references[place].source for item, place in matches if place is not None)
    sources = sorted({source for count in counts.values() for source in count})
    if not sources:
        return None
    rows: list[list[Cell]] = [[spec, *(count[source] for source in sources)] for spec, count in counts.items()]
    totals = Counter(reference.source for item in items.values() for reference in item.references)
    rows.append(["references in the data", *(totals[source] for source in sources)])
    notes = [
        "The number of replies whose best match (the reference with the highest score alone) came from each source."
    ]
    return Table("Where the matched references come from", ["metric", *sources], rows, notes)
