"""The judges of a run: how well they agree with people, what sways them, what could not be read, what it cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rejoinder import spec as specs
from rejoinder.comparison.judge_quality import JudgeQuality, measure_judge, quality_table
from rejoinder.comparison.rated_scores import DIALOGUE, list_rated_aspects
from rejoinder.data.collection import Collection
from rejoinder.engines.spending import SpendingLimit, check_budget, ledger_path, limit_spending
from rejoinder.errors import RunError, SpecError, nearest
from rejoinder.files import sha256_of_bytes
from rejoinder.judges.answer_summary import describe_repeated
from rejoinder.judges.arena import read_stored_pairs
from rejoinder.judges.bias import JudgeBias, bias_table, measure_bias
from rejoinder.judges.consistency import (
    AnswerCounts,
    RepeatConsistency,
    compute_price,
    count_answers,
    count_problems,
    count_repeated,
    measure_consistency,
)
from rejoinder.judges.endpoint import RawAnswer, RemoteJudge
from rejoinder.judges.prices import find_price
from rejoinder.metric import name_of, parse_stored
from rejoinder.metrics.judge import Judge
from rejoinder.probes.reply_variants import ReplyTrial, ReplyVariants, attack_table
from rejoinder.reports.findings import JUDGE
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.folder import check_run_files, read_run_about
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.run import load
from rejoinder.scoring.run_parts import list_run_parts
from rejoinder.table import Cell, Table, format_count
from rejoinder.types import Pair

_HEADS = ["judge", "replies", "answers", "unreadable", "refused", "input tokens", "output tokens", "cost"]
_CONSISTENCY_HEADS = ["compared", "all repeats equal", "mean difference", "alpha"]


_MOST_PAIRS = 10_000  # of replies, about which a stored comparison is looked for
Log = Callable[[str], None]


@dataclass(frozen=True)
class JudgeSummary:
    """What one judge of a run answered, how good it is, and what it cost (NaN if unknown).

    ``quality`` is its agreement with people, one for each aspect they rated; ``bias`` is from choices between two
    replies that were asked for before (``rejoinder arena``), ``attacks`` from changed replies, where they were asked
    for. ``problems`` says why answers could not be read.
    """

    metric: str
    replies: int
    answers: AnswerCounts
    consistency: RepeatConsistency
    cost: float
    unanswered: int
    problems: Mapping[str, int] = field(default_factory=dict)
    quality: Sequence[JudgeQuality] = ()
    bias: JudgeBias | None = None
    attacks: Sequence[ReplyTrial] = ()
    run: str = "RUN"
    repeated: tuple[int, int] = (0, 0)  # answers with a verdict that the reply contains, and all about such replies

    def sentences(self) -> list[str]:
        """What the judge may be used for, and what is known about its choices between two replies."""
        said = [one.sentence() for one in self.quality] or [
            f"{self.metric}: what it may be used for is not known, because no reply was rated by people; choose "
            f"replies to rate with: rejoinder next {self.run} -n 100 -o to_rate.jsonl"
        ]
        for one in self.quality:
            if one.verbosity.low > 0:
                said.append(f"{self.metric}: it scores longer replies of {one.aspect} higher than people do.")
        said += [f"{self.metric}: {one[0].lower()}{one[1:]}" for one in (self.bias.sentences() if self.bias else [])]
        unseen = [one for one in self.attacks if one.kind == "attack" and one.lowered.low <= 0.5]
        if unseen:
            names = ", ".join(f"{one.name} {one.lowered.value:.0%}" for one in unseen)
            said.append(f"{self.metric}: not shown to lower the score of most replies changed for the worse: {names}.")
        return said


def judge(
    run: str | Path,
    *,
    aspect: str | None = None,
    attacks: int = 0,
    input_price: float | None = None,
    output_price: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
    budget: float | None = None,
    log: Log | None = None,
) -> list[JudgeSummary]:
    """How good the judges of a finished run are: agreement with people, steadiness, biases, answers and cost.

    - ``run``: the run folder, scored with a judge.
    - ``aspect``: the aspect that people rated; by default, each.
    - ``attacks``: how many replies are changed for the worse, and harmlessly, to see what their scores do; these are
      sent to the judge. Without, no request is sent.
    - ``input_price``: the price per million input tokens; where neither price is given, those of ``list prices``.
    - ``output_price``: the price per million output tokens.
    - ``resamples``: how often dialogues are resampled.
    - ``seed``: the seed of the resamples and of the changed replies.
    - ``budget``: the most that the requests about changed replies may cost (docs/judge.md).
    - ``log``: called with a line for each judge: how many requests there are, before any is sent; it may raise.

    >>> import rejoinder
    >>> scores = rejoinder.run(["chats.jsonl"], rejoinder.Plan.of(["judge(model='NAME')"]), "judged")
    >>> for summary in rejoinder.judge("judged", input_price=1, output_price=4):
    ...     print(summary.cost, summary.sentences()[0])
    """
    if (input_price is None) != (output_price is None):
        raise SpecError("give both input_price and output_price, or neither")
    check_budget(budget, "local")
    folder = Path(run)
    given = (input_price, output_price) if input_price is not None and output_price is not None else None
    metrics, data = _read_judges(folder), load_data(folder)
    summaries = []
    for metric, pairs in _pair_judges(metrics, data):
        answers_by_reply = _read_answers(folder, metric, pairs)
        counts = count_answers(answers_by_reply)
        price = find_price(metric.model)
        prices = given or (None if price is None else (price.input, price.output))
        cost = compute_price(counts, prices) if prices and not counts.uncounted else math.nan
        is_remote = metric.is_remote
        summaries.append(
            JudgeSummary(
                str(metric),
                len(pairs),
                counts,
                measure_consistency(answers_by_reply),
                cost if is_remote else 0.0,
                sum(not answers for answers in answers_by_reply) if is_remote else 0,
                count_problems(answers_by_reply),
                _measure_quality(folder, metric, data, aspect, resamples, seed),
                _measure_stored_bias(metric, data),
                _attack_judge(metric, pairs, attacks, seed, budget, log) if attacks else (),
                str(run),
                count_repeated(answers_by_reply),
            )
        )
    return summaries


def _measure_quality(
    folder: Path, metric: Judge, data: Collection, aspect: str | None, resamples: int, seed: int
) -> list[JudgeQuality]:
    """The agreement with people in each aspect that suits the judge: of replies, or of whole dialogues."""
    if not data.ratings:
        return []
    scores = load(folder)
    known = list_rated_aspects(data, scores)
    if aspect is not None and aspect not in known:
        raise SpecError(f"nobody rated replies in the aspect {aspect!r}; {nearest(aspect, known)}")
    suited = [one for one in known if one.startswith(DIALOGUE) == metric.whole_dialogues and aspect in (None, one)]
    return [measure_judge(scores, data, str(metric), one, "spearman", resamples, seed) for one in suited]


def _measure_stored_bias(metric: Judge, data: Collection) -> JudgeBias | None:
    """The biases in choices between two replies of this run that are stored; None where there are none."""
    asked = metric.judge()
    pairs = read_stored_pairs(asked, data, _MOST_PAIRS) if isinstance(asked, RemoteJudge) else []
    return measure_bias(pairs, asked.rubric.unit) if pairs else None


def _attack_judge(
    metric: Judge, pairs: Sequence[Pair], n: int, seed: int, budget: float | None, log: Log | None
) -> list[ReplyTrial]:
    """What changed replies do to the judge's scores."""
    variants, asked = ReplyVariants.of(pairs, n, seed), metric.judge()
    if log is not None:
        requests = metric.to_requests(variants.pairs)
        n_requests = asked.count_requests(requests) if isinstance(asked, RemoteJudge) else 0
        log(f"{metric}: {n_requests:,} requests about changed replies")
    limit = None
    if budget is not None:
        keys = sorted(preview.key for preview in metric.preview_requests(variants.pairs))
        limit = SpendingLimit(budget, str(ledger_path(sha256_of_bytes("attacks".join(keys).encode()))))
    with limit_spending(limit):
        return variants.measure(score_pairs(metric, variants.pairs), metric.range[0])


def judge_tables(summaries: Sequence[JudgeSummary]) -> list[Table]:
    """The answers, the agreement with people, the choices between two replies, and the changed replies."""
    tables = [judge_table(summaries)]
    if qualities := [one for summary in summaries for one in summary.quality]:
        tables.append(quality_table(qualities))
    tables += [bias_table(one.bias, f"{one.metric}: choices between two replies") for one in summaries if one.bias]
    return tables + [attack_table(summary.metric, summary.attacks) for summary in summaries if summary.attacks]


def judge_table(summaries: Sequence[JudgeSummary]) -> Table:
    """One line per judge of a finished run."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    for summary in summaries:
        counts, consistency = summary.answers, summary.consistency
        line: list[Cell] = [summary.metric, summary.replies, counts.answers, counts.unreadable, counts.refused]
        line += [counts.input_tokens, counts.output_tokens, summary.cost]
        rows.append([*line, consistency.n, consistency.same, consistency.mean_difference, consistency.alpha])
        notes += _judge_notes(summary)
    notes.append(
        "Repeats send the same request again; alpha is Krippendorff's (interval scale), 1 where they always agree."
    )
    return Table("Judges", [*_HEADS, *_CONSISTENCY_HEADS], rows, notes)


def read_raw_answers(folder: Path) -> Iterator[dict[str, Any]]:
    """Every raw answer for a run, unchanged, with the id of the response."""
    for metric, pairs in _pair_judges(_read_judges(folder), load_data(folder)):
        for pair, answers in zip(pairs, _read_answers(folder, metric, pairs), strict=True):
            for answer in answers:
                yield {"response": pair.response.id, "metric": str(metric), **answer.record()}


def _read_judges(folder: Path) -> list[Judge]:
    specs_in_run = (metric["spec"] for metric in read_run_about(folder)["metrics"])
    metrics = [parse_stored(spec) for spec in specs_in_run if specs.parse_spec(spec, "metric").name == name_of(Judge)]
    judges = [metric for metric in metrics if isinstance(metric, Judge)]
    if not judges:
        raise RunError(f"{folder}: no judge was used in this run; score with -m \"judge(model='NAME')\"")
    return judges


def _pair_judges(judges: Sequence[Judge], data: Collection) -> Iterator[tuple[Judge, list[Pair]]]:
    """Every judge with what it rated: the replies, or the last ones of the dialogues."""
    pairs = list(data.pairs())
    for metric in judges:
        yield metric, [pair for pair in pairs if pair.is_last or not metric.whole_dialogues]


def _read_answers(folder: Path, metric: Judge, pairs: list[Pair]) -> list[list[RawAnswer]]:
    """The answers about each pair: from the run folder if it has them, else from the cache; the embedded has none."""
    if not metric.is_remote:
        return [[] for _ in pairs]
    check_run_files(folder, {JUDGE})
    files = [part / JUDGE for part in list_run_parts(folder)]
    if not all(path.is_file() for path in files):
        return [[RawAnswer.of(record) for record in records] for records in metric.trace(pairs)]
    by_response: dict[str, list[RawAnswer]] = {}
    for record in (orjson.loads(line) for path in files for line in path.read_bytes().splitlines()):
        if record["metric"] == str(metric):
            by_response.setdefault(record["response"], []).append(RawAnswer.of(record))
    return [by_response.get(pair.response.id, []) for pair in pairs]


def _judge_notes(summary: JudgeSummary) -> Iterator[str]:
    if summary.problems:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in Counter(summary.problems).most_common())
        yield f"{summary.metric}: answers that could not be read: {reasons}."
    if summary.repeated[1]:
        remedy = ": read these replies" if summary.repeated[0] else ""
        yield f"{summary.metric}: {describe_repeated(*summary.repeated)}{remedy}."
    if n := summary.answers.uncounted:
        yield f"{summary.metric}: {format_count(n, 'answer')} without a valid token count, so the cost is unknown."
    if summary.unanswered:
        replies = format_count(summary.unanswered, "reply", "replies")
        yield f"{summary.metric}: {replies} without a stored answer (blank, or the cache was cleared)."
