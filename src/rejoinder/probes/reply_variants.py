"""The replies of a run, attacked and edited by rule: how often a text that should be worse gets a lower score.

The trials are those of ``attack``; here a system's reply takes the place of the true one. A reply that already has the
lowest score cannot get a lower one and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rejoinder.data.dialogue_places import turns_after
from rejoinder.probes.exchange import Exchange, ReplyPool
from rejoinder.probes.sampling import MAX_TURNS
from rejoinder.probes.variants import TRIALS, TRUE, TrialKind, TrialVariants
from rejoinder.seeded import stable_shuffle
from rejoinder.stats.arrays import NAN, Bools, Floats
from rejoinder.stats.interval import Interval, interval_estimate, mean_interval, share_interval
from rejoinder.table import Cell, Table
from rejoinder.types import Pair


class ReplyTrial(NamedTuple):
    """How a judge takes one kind of changed reply: how often the score is lower, or higher, and the mean change."""

    kind: TrialKind
    name: str
    about: str
    lowered: Interval
    raised: Interval
    change: Interval


@dataclass(frozen=True)
class ReplyVariants:
    """A sample of replies with the texts of every trial."""

    pairs: tuple[Pair, ...]  # every reply, followed by its texts
    places: dict[str, tuple[int, ...]]  # the row of each trial's text, one per reply; -1 where there is none
    dialogues: tuple[str, ...]

    @classmethod
    def of(cls, pairs: Sequence[Pair], n: int, seed: int) -> ReplyVariants:
        """A sample of n replies with words and a context, changed in every way."""
        spoken = {
            pair.response.id: pair
            for pair in pairs
            if any(map(str.isalnum, pair.response.text)) and any(turn.text.strip() for turn in pair.item.context)
        }
        pool = ReplyPool(tuple((_dialogue(pair), pair.response.text) for pair in spoken.values()))
        sample = [spoken[name] for name in stable_shuffle(spoken, "attacks", seed)[:n]]
        texts = TrialVariants.of([_make_exchange(pair, pool) for pair in sample], seed).texts
        changed: list[Pair] = []
        places: dict[str, list[int]] = {name: [] for name in (TRUE, *texts)}
        for i, pair in enumerate(sample):
            for name, text in [(TRUE, pair.response.text), *((name, of_trial[i]) for name, of_trial in texts.items())]:
                places[name].append(-1 if text is None else len(changed))
                if text is not None:
                    changed.append(_with_text(pair, name, text))
        rows = {name: tuple(indices) for name, indices in places.items()}
        return cls(tuple(changed), rows, tuple(_dialogue(pair) for pair in sample))

    def measure(self, scores: Floats, lowest: float) -> list[ReplyTrial]:
        """What each trial does to the scores of the pairs."""
        values = np.append(scores, NAN)
        by_trial = {name: values[list(rows)] for name, rows in self.places.items()}
        true = by_trial[TRUE]
        trials = []
        for trial in TRIALS:
            change = by_trial[trial.name] - true
            can_fall = np.where(true > lowest, change, NAN)
            trials.append(
                ReplyTrial(
                    trial.kind,
                    trial.name,
                    trial.about,
                    share_interval(_where(can_fall, can_fall < 0), self.dialogues),
                    share_interval(_where(change, change > 0), self.dialogues),
                    mean_interval(change, self.dialogues),
                )
            )
        return trials


def attack_table(metric: str, trials: Sequence[ReplyTrial]) -> Table:
    """One line per trial."""
    rows: list[list[Cell]] = [
        [
            trial.name,
            f"{'worse' if trial.kind == 'attack' else 'harmless'}: {trial.about}",
            interval_estimate(trial.lowered),
            interval_estimate(trial.raised),
            interval_estimate(trial.change),
            trial.change.n,
        ]
        for trial in trials
        if trial.change.n
    ]
    notes = [
        "lower: the share of replies whose score falls (of those above the lowest score); a judge that reads lowers "
        "the worse ones nearly always and the harmless ones hardly ever. 95% intervals over dialogues."
    ]
    return Table(
        f"{metric}: changed replies", ["change", "what", "lower", "higher", "mean change", "n"], rows, notes, 2
    )


def _where(change: Floats, holds: Bools) -> Floats:
    """1 and 0, NaN where a score is missing."""
    shares: Floats = np.where(np.isnan(change), NAN, holds.astype(np.float64))
    return shares


def _dialogue(pair: Pair) -> str:
    return f"item {pair.item.id}" if pair.item.dialogue is None else f"dialogue {pair.item.dialogue}"


def _make_exchange(pair: Pair, pool: ReplyPool) -> Exchange:
    item = pair.item
    after = turns_after(pair)
    context = tuple(turn for turn in item.context if turn.text.strip())[-MAX_TURNS:]
    return Exchange(
        pair.response.id,
        "run",
        _dialogue(pair),
        context,
        pair.response.text,
        after[0].text if after else None,
        pool=pool,
    )


def _with_text(pair: Pair, name: str, text: str) -> Pair:
    """The same pair with another reply; the first is the reply itself, whose score is mostly stored."""
    if name == TRUE:
        return pair
    return replace(pair, response=replace(pair.response, id=f"{pair.response.id}/{name}", text=text))
