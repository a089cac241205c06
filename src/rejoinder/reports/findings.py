"""Everything that a report says about a finished run, computed once: the run itself, comparisons, trust."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from rejoinder.comparison.compare import Comparison, compare
from rejoinder.comparison.rated_scores import list_rated_aspects
from rejoinder.comparison.trust import Trust, trust
from rejoinder.comparison.trust_tables import metric_agreement_table
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.folder import SCORES, read_run_about
from rejoinder.scoring.reader import load_data, load_scores
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run_parts import list_run_parts
from rejoinder.table import Table

JudgeOutcomes: TypeAlias = Mapping[tuple[str, str], str]  # by spec and response
JUDGE = "judge.jsonl"  # the judges' raw answers in a run folder


@dataclass(frozen=True)
class RunFindings:
    """A run with its analysis; ``flags`` holds the flags of each response that has any."""

    about: Mapping[str, Any]
    scores: Scores
    data: Collection
    flags: Mapping[str, Sequence[str]]
    comparisons: Sequence[Comparison]
    trusts: Sequence[Trust]
    aspect: str | None
    seed: int
    outcomes: JudgeOutcomes = field(default_factory=dict)
    by: str | None = None

    def tables(self) -> list[Table]:
        """The score table, the leaderboards with their differences, and the agreement in each aspect."""
        score_tables = [self.scores.table()]
        for comparison in self.comparisons:
            score_tables.append(comparison.leaderboard())
            if comparison.differences:
                score_tables.append(comparison.matrix())
            score_tables += comparison.slices.tables() if comparison.slices else []
        return score_tables + [metric_agreement_table(one) for one in self.trusts]


def compute_findings(
    folder: Path,
    aspect: str | None = None,
    seed: int = 0,
    by: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> RunFindings:
    """Read a run folder, compare its systems (also by slices of the replies, with ``by``), and compare its metrics with
    its ratings (of one aspect, or of all); ``progress`` is called with each step and the share done before it."""
    progress = progress or _ignore_progress
    about = read_run_about(folder)
    progress("reading the replies", 0.02)
    data = load_data(folder)
    progress("reading the scores", 0.15)
    scores = replace(load_scores(folder, about), data=data)
    known = list_rated_aspects(data, scores)
    if aspect is not None and aspect not in known:
        raise InputError(f"nobody rated responses in the aspect {aspect!r}; {nearest(aspect, known)}")
    wanted = known if aspect is None else [aspect]
    progress("comparing the systems", 0.25)
    comparisons = compare(scores, seed=seed, by=by)
    trusts = []
    for number, one in enumerate(wanted):
        progress(f"comparing the metrics with the ratings of {one!r}", 0.6 + 0.4 * number / len(wanted))
        trusts.append(trust(scores, data, one, seed=seed))
    return RunFindings(
        about,
        scores,
        data,
        _read_flags(folder),
        comparisons,
        trusts,
        aspect,
        seed,
        load_outcomes(folder),
        by,
    )


def _ignore_progress(step: str, share: float) -> None:
    """Do nothing."""


def load_outcomes(folder: Path) -> JudgeOutcomes:
    """The outcome of the last answer about each reply, under each judge of a run, except for successful ones."""
    outcomes: dict[tuple[str, str], str] = {}
    for path in (part / JUDGE for part in list_run_parts(folder)):
        if path.is_file():
            with path.open("rb") as file:
                lines = (orjson.loads(raw) for raw in file)
                outcomes |= {(line["metric"], line["response"]): line["outcome"] for line in lines}
    return {key: outcome for key, outcome in outcomes.items() if outcome != "answered"}


def _read_flags(folder: Path) -> dict[str, list[str]]:
    """The flags of each response; the files have already been read once, so they are readable."""
    flags: dict[str, list[str]] = {}
    for part in list_run_parts(folder):
        with (part / SCORES).open("rb") as file:
            lines = (orjson.loads(raw) for raw in file if b'"flags"' in raw)
            flags |= {line["response"]: line["flags"] for line in lines if line.get("flags")}
    return flags
