"""The attack table: which worse replies the true one beats, and which harmless edits change a score, per metric."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.data.inputs import DEFAULT_CORPORA
from rejoinder.probes.attack import AttackPlan, attack, read_attack_records
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.relevance.relevance import PERMISSIVE_SPECS, split_usable

SUMMARY = "worse replies that the true one beats and harmless edits that change the score, macro average over corpora"
SPECS = ("aptness", "aptness(model='bi')", "aptness(model='cross')", *PERMISSIVE_SPECS, "context_overlap", "length")
KINDS = {"attack": "True reply above (share of contexts)", "edit": "Mean absolute change (share of the range)"}


def reproduce(metrics: Sequence[str] | None = None, plan: AttackPlan | None = None) -> Reproduction:
    """Attack each metric on 2,000 contexts of the corpora's split ``test``."""
    specs, absent = split_usable(SPECS) if metrics is None else (list(metrics), [])
    result = attack(read_attack_records(DEFAULT_CORPORA), specs, plan or AttackPlan())
    figures = [
        Figure(
            KINDS[one.kind],
            one.trial,
            one.metric,
            None,
            one.value.value,
            one.value.low,
            one.value.high,
            one.value.n,
        )
        for one in result.outcomes
        if one.corpus is None
    ]
    contexts = ", ".join(f"{name} {n}" for name, n in result.contexts.items())
    notes = [load_notes("own").text("robustness", contexts=contexts), *result.notes, *absent]
    return Reproduction("robustness", "Attacks on metrics", figures, notes)
