"""How much of a pooled correlation is "which system wrote it": the oracle on rated sets whose systems are known."""

from __future__ import annotations

from rejoinder.comparison.trust import Trust, trust
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.metric import parse
from rejoinder.scoring.api import score
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes

SUMMARY = "pooled and within-system correlations on rated sets, beside an oracle that knows only the system"
# Set and aspect; sets with references get reference-based metrics.
SETS = (
    ("gupta/single", "appropriate"),
    ("gupta/multi", "appropriate"),
    ("gupta/scarce-multi", "appropriate"),
    ("usr/topical_chat", "maintains-context"),
    ("usr/topical_chat", "overall"),
    ("fed/turn", "relevant"),
    ("fed/turn", "overall"),
)
REFERENCED = ("bleu", "bleu(smoothing='epsilon')", "rouge_l", "meteor", "chrf")


def reproduce() -> Reproduction:
    """Correlate overlap metrics and trivial baselines with the ratings of every set."""
    figures: list[Figure] = []
    notes = load_notes("own").paragraphs("confounders")
    for name, aspect in SETS:
        data = read(f"dataset:{name}", allow_empty=True)
        result = trust(score(data, _list_overlap_metrics(data)), data, aspect)
        figures += _trust_figures(f"{name}, {aspect}", result)
        notes.append(_describe_confounder(name, aspect, result))
    return Reproduction("confounders", "What knowing the system alone explains", figures, notes)


def _list_overlap_metrics(data: Collection) -> list[str]:
    has_references = any(item.references for item in data.items.values())
    return [str(parse(spec)) for spec in (REFERENCED if has_references else ("distinct",))]


def _trust_figures(table: str, result: Trust) -> list[Figure]:
    return [
        Figure(table, one.name, level.replace("_", " "), None, at.value, at.low, at.high, at.n, at.reason or "")
        for one in [*result.metrics, *result.baselines]
        for level, at in one.levels.items()
    ]


def _describe_confounder(name: str, aspect: str, result: Trust) -> str:
    oracle = result.baselines[0].levels["pooled"]
    best = max([*result.metrics, *result.baselines[1:]], key=lambda m: m.levels["pooled"].value)
    return load_notes("own").text(
        "confounders, one set",
        name=name,
        aspect=aspect,
        oracle=oracle.value,
        low=oracle.low,
        high=oracle.high,
        best=best.name,
        pooled=best.levels["pooled"].value,
        within=best.levels["within_system"].value,
    )
