"""Where the references came from that replies matched best, for runs that were scored with ``--matched``."""

from __future__ import annotations

from collections import Counter

from rejoinder.report.findings import Findings
from rejoinder.report.table import Cell, Table


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
