"""The figures of ``reproduce chosen``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import orjson

from rejoinder.data.questions import find_right_candidates
from rejoinder.paths import data_home
from rejoinder.selection.acceptability_file import load_acceptability
from rejoinder.selection.settings import JUDGE
from rejoinder.stats.agreement_interval import fleiss_interval
from rejoinder.stats.arrays import Floats
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.stats.paired_difference import difference_interval
from rejoinder.types import Question
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.chosen.ladders import KnownOrder
from rejoinder_lab.papers.chosen.measures import LadderMeasures, Scoring
from rejoinder_lab.papers.chosen.sets import PairedSets
from rejoinder_lab.papers.chosen.stored import CandidateKind
from rejoinder_lab.papers.loader import load_published

SCORES = "judgements/eval_via_selection/human_scores.jsonl"
INDICES = "judgements/eval_via_selection/indice/opensubtitles.txt"
SYSTEMS = 10  # of the paper
_PUBLISHED = load_published("chosen")
_NAN = math.nan
_NO_SETS = "Not measured: the sets could not be built here"


def agreement_figures(root: Path | None = None) -> Iterator[Figure]:
    """Table 1: how well five people agree on the released scores, and other readings of what was printed."""
    folder = root or data_home()
    by_question = [orjson.loads(line) for line in (folder / SCORES).read_bytes().splitlines()]
    scores = np.array([five for five_each in by_question for five in five_each], np.float64)
    readings = {"of candidates with at most one score of 0": (scores == 0).sum(axis=1) <= 1}
    if (folder / INDICES).is_file():
        # Of a second question, the true reply too comes from the repository: it has an index more than a first one.
        is_first = [len(line.split()) < 4 for line in (folder / INDICES).read_text(encoding="utf-8").splitlines()]
        readings = {"of first questions": np.repeat(is_first, list(map(len, by_question))), **readings}
    table = "Table 1: Fleiss' kappa of the released scores"
    for row, values in (("six classes", scores), ("two classes", (scores > 3).astype(np.float64))):
        yield _to_figure(table, row, "kappa", fleiss_interval(values), _PUBLISHED["Table 1"][row])
        for column, rows in readings.items():
            yield _to_figure(table, row, column, fleiss_interval(values[rows]))
    above_four = fleiss_interval((scores > 4).astype(np.float64))
    yield _to_figure(table, "two classes", "of scores above 4 against the others", above_four)


def tfidf_figures(pair: PairedSets | None) -> Iterator[Figure]:
    """Section 3.2: a system that compares content words only, on the same questions; NaN if there are no sets."""
    table = "TF-IDF, accuracy on the same questions (section 3.2)"
    published = _PUBLISHED["Section 3.2"]
    gap = round(published["RANDOM"] - published["CHOSEN"], 3)
    if pair is None:
        for row, value in (*published.items(), ("RANDOM minus CHOSEN", gap)):
            yield Figure(table, row, "accuracy", value, _NAN, note=_NO_SETS)
        return
    hits = {
        CandidateKind.CHOSEN: score_with_tfidf(pair.chosen),
        CandidateKind.RANDOM: score_with_tfidf(pair.random),
    }
    for kind, values in hits.items():
        yield _to_figure(table, kind.value, "accuracy", mean_interval(values), published[kind.value])
    difference = difference_interval(hits[CandidateKind.RANDOM], hits[CandidateKind.CHOSEN])
    yield _to_figure(table, "RANDOM minus CHOSEN", "accuracy", difference, gap)


def length_figures(pair: PairedSets | None) -> Iterator[Figure]:
    """Whether length gives the true reply away: a quarter each, if it does not."""
    table = "How often the true reply is the longest or the shortest of four, in words (by chance .25)"
    for kind in CandidateKind:
        questions = None if pair is None else pair.chosen if kind is CandidateKind.CHOSEN else pair.random
        for column, sign in (("longest", 1), ("shortest", -1)):
            if questions is None:
                yield Figure(table, kind.value, column, None, _NAN, note=_NO_SETS)
            else:
                lengths = [[sign * float(len(one.text.split())) for one in q.candidates] for q in questions]
                yield _to_figure(table, kind.value, column, mean_interval(score_hits(lengths, questions)))


def score_with_tfidf(questions: Sequence[Question]) -> list[float]:
    """Return where TF-IDF selects the true reply."""
    from rejoinder.systems import parse_system

    return score_hits(parse_system("tfidf").score(questions), questions)


def score_hits(scores: Sequence[Sequence[float]], questions: Sequence[Question]) -> list[float]:
    """Return 1 if the true reply has the highest score, a fraction if others tie with it."""
    hits = []
    for row, question in zip(scores, questions, strict=True):
        top = [place for place, score in enumerate(row) if score == max(row)]
        hits.append(len(find_right_candidates(question) & set(top)) / len(top))
    return hits


def model_pass_figures() -> Iterator[Figure]:
    """How good the model pass is: positive vs. adversarial replies of DailyDialog++."""
    from rejoinder.metric import parse

    known = load_acceptability(parse(JUDGE))
    table = f"The model pass, {JUDGE}, on DailyDialog++ (threshold chosen on dev)"
    for split, rates in (("dev", known.chosen), ("test", known.measured)):
        yield _to_figure(table, split, "AUC, positive vs. adversarial", rates.auc)
        yield _to_figure(table, split, "acceptable candidates kept as false", rates.missed)
        yield _to_figure(table, split, "adversarial candidates removed", rates.passed["adversarial"])


def human_ranking_figures() -> Iterator[Figure]:
    """Table 3: Spearman with people, which cannot be measured, and the p-value that belongs to each coefficient."""
    table = "Table 3: Spearman with the human ranking of ten systems (not released: not measured)"
    for row, rho in _PUBLISHED["Table 3"].items():
        yield Figure(table, row, "Spearman", rho, _NAN)
        p_value = spearman_p_value(rho, SYSTEMS) if row in _PUBLISHED["Table 3, p-values"] else _NAN
        yield Figure(table, row, "p-value", _PUBLISHED["Table 3, p-values"].get(row), p_value)


def spearman_p_value(rho: float, n: int) -> float:
    """Return the two-sided p-value of Spearman's rho of n pairs, by Student's t."""
    from scipy.special import stdtr

    return float(2 * stdtr(n - 2, -abs(rho) * math.sqrt((n - 2) / (1 - rho**2))))


def ladder_figures(ladders: Sequence[LadderMeasures], missing: Sequence[KnownOrder]) -> Iterator[Figure]:
    """Spearman with the known order, mean over sets, set for set; NaN for ladders whose losses are not stored."""
    summaries = {ladder.row: ladder.summaries() for ladder in ladders}
    table = "Spearman with the known order of a ladder, mean over sets of the same questions"
    columns = {"CHOSEN mean": "CHOSEN", "RANDOM mean": "RANDOM", "difference of means": "CHOSEN minus RANDOM"}
    yield from _summary_figures(table, columns, summaries, missing)
    table = "Standard deviation of that Spearman over sets"
    columns = {
        "CHOSEN standard deviation": "CHOSEN",
        "RANDOM standard deviation": "RANDOM",
        "difference of standard deviations": "CHOSEN minus RANDOM",
    }
    yield from _summary_figures(table, columns, summaries, missing)


def _summary_figures(
    table: str,
    columns: Mapping[str, str],
    summaries: Mapping[str, Mapping[str, Interval]],
    missing: Sequence[KnownOrder],
) -> Iterator[Figure]:
    for row, summary in summaries.items():
        for name, column in columns.items():
            yield _to_figure(table, row, column, summary[name])
    for order in missing:
        for scoring in Scoring:
            row, note = f"{order.name}; by {scoring.value}", "Not measured: its losses are not stored"
            yield from (Figure(table, row, column, None, _NAN, note=note) for column in columns.values())


def rung_figures(ladders: Sequence[LadderMeasures]) -> Iterator[Figure]:
    """The accuracy of each rung on both kinds of sets, mean over sets."""
    for ladder in ladders:
        table = f"Accuracy, {ladder.row} (worst rung first)"
        for number, rung in enumerate(ladder.order.rungs):
            for kind in CandidateKind:
                by_question: Floats = ladder.right[kind][number].mean(axis=0)
                row = f"{rung.share:.0%} {rung.otherwise}" if rung.share else rung.system
                yield _to_figure(table, row, kind.value, mean_interval(by_question))


def _to_figure(table: str, row: str, column: str, interval: Interval, published: float | None = None) -> Figure:
    low, high = (None if math.isnan(end) else end for end in (interval.low, interval.high))
    return Figure(table, row, column, published, interval.value, low, high, interval.n)
