"""Aptness on held-out dialogues: how often the true reply beats another one, and how well the score is calibrated."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.inputs import DEFAULT_CORPORA
from rejoinder.errors import InputError
from rejoinder.metric import NAN, Metric, parse
from rejoinder.probes.attack import read_attack_records
from rejoinder.probes.attacks import pick_from_other_dialogue
from rejoinder.probes.sampling import draw_exchanges
from rejoinder.probes.trial_scores import score_wins
from rejoinder.scoring.api import score_pairs
from rejoinder.stats.arrays import Floats
from rejoinder.stats.calibration import calibration
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Pair, Response
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.lengths import FEWEST, PairLengths, measure_lengths
from rejoinder_lab.papers.own.relevance.relevance import PERMISSIVE_SPECS, split_usable

Names: TypeAlias = NDArray[np.str_]

SUMMARY = "the true reply vs. one from another dialogue, on the test split of each corpus; calibration error"
SPECS = ("aptness", "aptness(model='bi')", "aptness(model='cross')", *PERMISSIVE_SPECS)
WINS, ERROR = "True reply above one from another dialogue", "Expected calibration error (10 bins)"
CONTEXTS = 9_800  # 700 per corpus that has as many
SEED = 1


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Score the true reply and another one to each context; both are equally likely a priori, so chance is 0.5."""
    specs, absent = split_usable(SPECS) if metrics is None else (metrics, [])
    named = [parse(spec) for spec in specs]  # a wrong name is an error before anything is read
    rng = random.Random(SEED)
    pairs, corpora, dialogues = [], [], []
    for exchange in draw_exchanges(read_attack_records(DEFAULT_CORPORA), CONTEXTS, "test", SEED):
        other = pick_from_other_dialogue(rng, exchange)
        if other is None:  # a corpus of one dialogue has none
            continue
        item = exchange.item()
        corpora.append(exchange.corpus)
        dialogues.append(exchange.dialogue)
        pairs += [
            Pair(item, Response(f"{item.id}/{kind}", item.id, kind, text))
            for kind, text in (("true", exchange.reply), ("other", other))
        ]
    if not pairs:
        raise InputError("no corpus has a second dialogue to take another reply from; add more dialogues")
    figures, by_length = [], []
    lengths = measure_lengths(pairs[::2])  # of the true replies
    for metric in named:
        scores = np.asarray(score_pairs(metric, pairs)).reshape(-1, 2)
        figures += _held_out_figures(metric, scores, np.array(corpora), np.array(dialogues))
        by_length += _length_figures(metric, scores, lengths, np.array(dialogues))
    notes = [*load_notes("own").paragraphs("held-out", n=len(corpora), seed=SEED), *absent]
    return Reproduction("held-out", "Aptness on held-out dialogues", figures + by_length, notes)


def _held_out_figures(metric: Metric, scores: Floats, corpora: Names, dialogues: Names) -> list[Figure]:
    """Figures of one metric; pairs without both scores are left out; only probabilities have a calibration error."""
    spec, wins = str(metric), _count_wins(metric, scores)
    figures, errors = [], []
    for name in np.unique(corpora):
        in_corpus = corpora == name
        interval = mean_interval(wins[in_corpus], dialogues[in_corpus])
        figures.append(Figure(WINS, str(name), spec, None, interval.value, interval.low, interval.high, interval.n))
        known = scores[in_corpus & ~np.isnan(wins)]
        if metric.range == (0.0, 1.0):
            outcomes = np.r_[np.ones(len(known)), np.zeros(len(known))]
            errors.append(
                Figure(ERROR, str(name), spec, None, calibration(known.T.ravel(), outcomes).error, n=len(outcomes))
            )
    measured = [figure.measured for figure in figures if not math.isnan(figure.measured)]
    figures.append(Figure(WINS, "mean of corpora", spec, None, _mean_or_nan(measured), n=int((~np.isnan(wins)).sum())))
    if errors:
        largest = max((figure.measured for figure in errors if not math.isnan(figure.measured)), default=NAN)
        errors.append(Figure(ERROR, "largest", spec, None, largest))
    return figures + errors


def _length_figures(metric: Metric, scores: Floats, lengths: PairLengths, dialogues: Names) -> list[Figure]:
    """How often the true reply wins, of all corpora together, by the length of the context and of the true reply."""
    wins = _count_wins(metric, scores)
    figures = []
    for part, in_bin in lengths.bins():
        if in_bin.rows.sum() >= FEWEST:
            interval = mean_interval(wins[in_bin.rows], dialogues[in_bin.rows])
            table = f"{WINS}, by tokens of the {part}"
            note = f"{interval.n} contexts"
            figures.append(
                Figure(
                    table, in_bin.name, str(metric), None, interval.value, interval.low, interval.high, interval.n, note
                )
            )
    return figures


def _count_wins(metric: Metric, scores: Floats) -> Floats:
    sign = -1.0 if metric.higher_is_better is False else 1.0
    return score_wins(sign * (scores[:, 0] - scores[:, 1]))


def _mean_or_nan(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else NAN
