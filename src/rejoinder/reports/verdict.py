"""The first screen of the report: the verdict in one sentence, a picture of it, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.compare import Comparison, compare
from rejoinder.comparison.rated_scores import DIALOGUE
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.leaderboard import Leaderboard, find_beaten, metric_leaderboard
from rejoinder.table import format_cell, format_count, join_names

_RATING = "rating:"
_MAX_STEPS = 4


@dataclass(frozen=True)
class NextStep:
    """Something to do next: a sentence, and the command for it or the part of the page where it is done."""

    text: str
    command: str = ""
    anchor: str = ""


@dataclass(frozen=True)
class Verdict:
    """The answer to "which system is better?": a sentence, the leaderboard behind it, and the next steps."""

    sentence: str
    board: Leaderboard | None
    steps: tuple[NextStep, ...]


def decide_verdict(findings: RunFindings) -> Verdict:
    """The verdict by people's ratings, where several systems are rated, else by the first metric with a direction."""
    comparison = _headline_comparison(findings)
    if comparison is None:
        sentence = "No metric of this run says what is better: all of them only describe replies."
        return Verdict(sentence, None, tuple(_next_steps(findings, None))[:_MAX_STEPS])
    steps = tuple(_next_steps(findings, comparison))[:_MAX_STEPS]
    return Verdict(_headline(comparison), metric_leaderboard(comparison), steps)


def _headline_comparison(findings: RunFindings) -> Comparison | None:
    for trust in findings.trusts:
        of_replies = not trust.evidence.aspect.startswith(DIALOGUE)
        if of_replies and len(set(trust.evidence.systems)) > 1:
            spec = f"{_RATING}{trust.evidence.aspect}"
            return compare(findings.scores, metrics=[spec], seed=findings.seed)[0]
    directed = [one for one in findings.comparisons if not one.is_descriptive and any(s.n for s in one.standings)]
    return directed[0] if directed else None


def _headline(comparison: Comparison) -> str:
    by = _describe_measure(comparison.metric)
    standings = [standing for standing in comparison.standings if standing.n]
    best = standings[0]
    if len(standings) == 1:
        return f"{best.system} has {format_cell(best.mean)} on average by {by}; there is no other system to compare."
    beaten = find_beaten(comparison).get(best.system, [])
    undecided = [standing.system for standing in standings[1:] if standing.system not in beaten]
    tied = [standing.system for standing in standings if standing.mean.value == best.mean.value]
    if not beaten and len(tied) > 1:
        return f"No winner by {by}: {join_names(tied)} share the best mean."
    if not beaten:
        return f"No clear winner by {by}: {best.system} comes first, but its lead may be chance."
    rest = f" Its lead over {join_names(undecided)} may be chance." if undecided else ""
    return f"{best.system} is best by {by}: surely ahead of {join_names(beaten)}.{rest}"


def _describe_measure(metric: str) -> str:
    return f"people's ratings ({metric.removeprefix(_RATING)})" if metric.startswith(_RATING) else metric


def _next_steps(findings: RunFindings, comparison: Comparison | None) -> Iterator[NextStep]:
    """What to do next, the most urgent first."""
    missing = int(sum(np.isnan(column).sum() for column in findings.scores.values.values()))
    if missing:
        count = format_count(missing, "score")
        yield NextStep(f"Find out why {count} {'is' if missing == 1 else 'are'} missing.", anchor="missing")
    if findings.flags:
        yield NextStep(
            f"Look at {format_count(len(findings.flags), 'flagged reply', 'flagged replies')}: some may be empty or in "
            "a language that the metrics are not made for.",
            anchor="missing",
        )
    if len(findings.scores.systems) == 1:
        yield NextStep(
            "Score the version that you would replace on the same items, to have something to compare with.",
            "rejoinder score old=OLD.jsonl new=NEW.jsonl",
        )
    if not findings.trusts:
        yield NextStep(
            "Have people rate some replies: without ratings, nobody knows how far these metrics can be trusted here.",
            "rejoinder next RUN -o to-rate.csv",
        )
    elif not _is_decided(comparison):
        yield NextStep("Find out how many items would settle the question.", "rejoinder power RUN")
    if comparison is not None:
        yield NextStep("Read the replies with the lowest scores.", anchor="all-replies")
    if len(findings.scores.systems) > 1 and _is_decided(comparison):
        yield NextStep(
            "Test the next version against this run, so that it does not get worse unnoticed.",
            "rejoinder check NEW --no-worse-than RUN",
        )


def _is_decided(comparison: Comparison | None) -> bool:
    return comparison is None or not comparison.differences or any(one.survives for one in comparison.differences)
