"""What the judges of a run said of themselves: how steady they are, what could not be read, what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder import spec as specs
from rejoinder.errors import RunError, SpecError
from rejoinder.judges.consistency import (
    AnswerCounts,
    Consistency,
    compute_price,
    count_answers,
    measure_consistency,
)
from rejoinder.judges.endpoint import RawAnswer, RemoteJudge
from rejoinder.judges.settings import read_prices
from rejoinder.metric import name_of, parse
from rejoinder.metrics.judge import Judge
from rejoinder.reports.findings import JUDGE
from rejoinder.scoring.folder import check_files, read_about
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.sharded.reader import list_run_parts
from rejoinder.table import Cell, Table
from rejoinder.types import Pair

_HEADS = ["judge", "replies", "answers", "unreadable", "refused", "input tokens", "output tokens", "cost"]
_CONSISTENCY_HEADS = ["compared", "all repeats equal", "mean difference", "alpha"]


@dataclass(frozen=True)
class JudgeSummary:
    """What one judge of a run answered about so many replies, how steady it is, and what it cost (NaN if unknown)."""

    metric: str
    replies: int
    answers: AnswerCounts
    consistency: Consistency
    cost: float
    unanswered: int


def judge(
    run: str | Path, *, input_price: float | None = None, output_price: float | None = None
) -> list[JudgeSummary]:
    """What the judges of a finished run answered, how steady they are and what they cost; nothing is asked.

    - ``run``: the run folder, scored with a judge at an endpoint.
    - ``input_price``: the price of a million tokens read; what the environment says where neither price is given.
    - ``output_price``: the price of a million tokens written.

    >>> import rejoinder
    >>> scores = rejoinder.run(["chats.jsonl"], rejoinder.Plan.of(["judge(model='NAME')"]), "judged")
    >>> [(summary.metric, summary.cost) for summary in rejoinder.judge("judged", input_price=1, output_price=4)]
    """
    if (input_price is None) != (output_price is None):
        raise SpecError("give both prices, that of tokens read and that of tokens written, or neither")
    folder = Path(run)
    asked = (input_price, output_price) if input_price is not None and output_price is not None else read_prices()
    summaries = []
    for metric, pairs in _remote_judges(folder):
        said = _read_answers(folder, metric, pairs)
        counted = count_answers(said)
        cost = compute_price(counted, asked) if asked and not counted.uncounted else math.nan
        silent = sum(not answers for answers in said)
        summaries.append(JudgeSummary(str(metric), len(pairs), counted, measure_consistency(said), cost, silent))
    return summaries


def judge_table(summaries: Sequence[JudgeSummary]) -> Table:
    """One line per judge of a finished run."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for one in summaries:
        counted, steady = one.answers, one.consistency
        line: list[Cell] = [one.metric, one.replies, counted.answers, counted.unreadable, counted.refused]
        line += [counted.input_tokens, counted.output_tokens, one.cost]
        rows.append([*line, steady.n, steady.same, steady.mean_difference, steady.alpha])
        notes += _notes(one)
    notes.append("Repeats ask the same again; alpha is Krippendorff's (interval scale), 1 where they always agree.")
    return Table("Judges", [*_HEADS, *_CONSISTENCY_HEADS], rows, notes)


def read_raw_answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Every raw answer that was given for a run, as it came, under the id of the response."""
    for metric, pairs in _remote_judges(folder):
        for pair, answers in zip(pairs, _read_answers(folder, metric, pairs), strict=True):
            for one in answers:
                yield {"response": pair.response.id, "metric": str(metric), **one.record()}


def _remote_judges(folder: Path) -> Iterator[tuple[Judge, list[Pair]]]:
    written = (metric["spec"] for metric in read_about(folder)["metrics"])
    # By name: to parse a metric of the user's own runs its file, and a run folder may come from anybody.
    metrics = [parse(spec) for spec in written if specs.parse_spec(spec, "metric").name == name_of(Judge)]
    judges = [metric for metric in metrics if isinstance(metric, Judge)]
    if not any(isinstance(metric.judge(), RemoteJudge) for metric in judges):
        raise RunError(
            f"{folder}: no judge at an endpoint was asked in this run; score with -m \"judge(model='NAME')\""
        )
    pairs = list(load_data(folder).pairs())
    return ((metric, pairs) for metric in judges if isinstance(metric.judge(), RemoteJudge))


def _read_answers(folder: Path, metric: Judge, pairs: list[Pair]) -> list[list[RawAnswer]]:
    """The answers about each pair: those in the run folder where it has them, else those in the cache."""
    check_files(folder, {JUDGE})
    files = [part / JUDGE for part in list_run_parts(folder)]
    if not all(path.is_file() for path in files):
        return [[RawAnswer.of(record) for record in records] for records in metric.trace(pairs)]
    found: dict[str, list[RawAnswer]] = {}
    for record in (orjson.loads(line) for path in files for line in path.read_bytes().splitlines()):
        if record["metric"] == str(metric):
            found.setdefault(record["response"], []).append(RawAnswer.of(record))
    return [found.get(pair.response.id, []) for pair in pairs]


def _notes(one: JudgeSummary) -> Iterator[str]:
    if n := one.answers.uncounted:
        yield f"{one.metric}: {n:,} answers do not tell their tokens (or tell nonsense): the cost is unknown."
    if one.unanswered:
        yield f"{one.metric}: {one.unanswered:,} replies have no kept answer (blank ones, or the cache was cleared)."
