"""Two runs side by side: their common metrics and systems, and the scores of the items that are the same in both."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.item_pairing import ItemPairing, pair_items
from rejoinder.comparison.rating_column import add_rating_columns, collect_rated_scores, is_rating
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import DATASET, read
from rejoinder.data.parts import split_system_turns
from rejoinder.errors import InputError, RunError, SpecError, nearest
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Cluster, Scores, Values
from rejoinder.scoring.run import Run, load
from rejoinder.table import format_count

NO_ITEMS = "no common items"
RunSource = Scores | Run | Collection | str | Path


class LoadedRun(NamedTuple):
    """The scores of a run and the data behind them, where they are known."""

    scores: Scores
    data: Collection | None


class SystemPair(NamedTuple):
    """What one system is called in the two runs."""

    old: str
    new: str

    @property
    def name(self) -> str:
        """The name in tables: one, or both where they differ."""
        return self.new if self.old == self.new else f"{self.old} → {self.new}"


class PairedScores(NamedTuple):
    """One system's scores under one metric, item by item; NaN where a run has none. Several replies are averaged."""

    items: Sequence[str]
    old: Values
    new: Values
    clusters: Sequence[Hashable]

    def take(self, places: Sequence[int]) -> PairedScores:
        """Return the scores of the items at some places."""
        rows = np.array(places, dtype=np.int64)
        items, clusters = [self.items[i] for i in places], [self.clusters[i] for i in places]
        return PairedScores(items, self.old[rows], self.new[rows], clusters)

    def known(self) -> PairedScores:
        """Return the scores of the items that have one in both runs."""
        return self.take(np.flatnonzero(~(np.isnan(self.old) | np.isnan(self.new))).tolist())

    @property
    def n_conversations(self) -> int:
        """How many conversations have a scored item in both runs."""
        return len(set(self.known().clusters))


@dataclass(frozen=True)
class RunPair:
    """Two runs that can be compared under some metrics; ``left_out`` says why others cannot.

    ``differing`` are the metrics of both runs whose signatures differ, and in which parts.
    """

    old: LoadedRun
    new: LoadedRun
    metrics: Sequence[str]
    systems: Sequence[SystemPair]
    pairing: ItemPairing
    left_out: Mapping[str, str] = field(default_factory=dict)
    differing: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        """What the pairs of replies are clustered by."""
        is_conversation = "conversation" in (self.old.scores.cluster, self.new.scores.cluster)
        return "conversation" if is_conversation else "item"

    @property
    def only_old_systems(self) -> list[str]:
        """The systems that only the old run has."""
        return _missing_systems(self.old.scores, self.new.scores)

    @property
    def only_new_systems(self) -> list[str]:
        """The systems that only the new run has."""
        return _missing_systems(self.new.scores, self.old.scores)

    def range(self, spec: str) -> tuple[float, float]:
        """Return the range of a metric; for ratings, from the smallest to the largest of both runs."""
        ranges = [run.scores.facts[spec].range for run in (self.old, self.new)]
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def higher_is_better(self, spec: str) -> bool | None:
        """Return the direction of a metric."""
        return self.new.scores.facts[spec].higher_is_better

    def scores(self, spec: str, system: SystemPair) -> PairedScores:
        """Return the scores of every item that the old system answered and that has a partner in the new run."""
        if self.is_of_dialogues(spec):
            return self._dialogue_scores(spec, system)
        reads_references = "references" in self.new.scores.facts[spec].needs
        old, new = (
            _item_means(run.scores, spec, name) for run, name in ((self.old, system.old), (self.new, system.new))
        )
        skipped = self.pairing.changed_references if reads_references else frozenset()
        pairs = {one: other for one, other in self.pairing.new_of_old.items() if one in old and one not in skipped}
        return PairedScores(
            list(pairs),
            np.array([old[one] for one in pairs], dtype=np.float64),
            np.array([new.get(other, math.nan) for other in pairs.values()], dtype=np.float64),
            [self._cluster(one, other) for one, other in pairs.items()],
        )

    def is_of_dialogues(self, spec: str) -> bool:
        """Return whether a metric scores whole dialogues, which are paired by their ids."""
        return self.new.scores.facts[spec].unit == "dialogue"

    def _dialogue_scores(self, spec: str, system: SystemPair) -> PairedScores:
        """The scores of every dialogue of the old system that the new run also has."""
        old = _dialogue_means(self.old.scores, spec, system.old)
        new = _dialogue_means(self.new.scores, spec, system.new)
        names = [name for name in old if name in new and name not in self.changed_dialogues]
        before, after = (np.array([means[name] for name in names], dtype=np.float64) for means in (old, new))
        return PairedScores(names, before, after, names)

    @cached_property
    def changed_dialogues(self) -> frozenset[str]:
        """The dialogues of both runs that begin with another turn under the same id."""
        if self.old.data is None or self.new.data is None:
            return frozenset()
        old, new = _find_openings(self.old.data), _find_openings(self.new.data)
        return frozenset(name for name in old if name in new and old[name] != new[name])

    def old_items(self, spec: str, system: SystemPair) -> list[str]:
        """Return the items (or dialogues) that have a score of the old system, whether or not the new run has them."""
        find_means = _dialogue_means if self.is_of_dialogues(spec) else _item_means
        means = find_means(self.old.scores, spec, system.old)
        return [item for item, mean in means.items() if not math.isnan(mean)]

    @cached_property
    def replies(self) -> tuple[Mapping[tuple[str, str], list[str]], Mapping[tuple[str, str], list[str]]]:
        """The texts of the old run, and of the new one, by item and system."""
        return _list_replies(self.old), _list_replies(self.new)

    def reply_texts(self, system: SystemPair, item: str) -> tuple[str, str]:
        """Return the old reply and the new one to an item of the old run; of several, the first."""
        before, after = self.replies
        replies = before[item, system.old], after[self.pairing.new_of_old[item], system.new]
        old, new = (texts[0] + (f" (and {len(texts) - 1} more)" if len(texts) > 1 else "") for texts in replies)
        return old, new

    def is_unchanged(self, system: SystemPair, items: Iterable[str] | None = None) -> bool:
        """Whether a system says the same in both runs, to every item or to some items of the old run."""
        if self.old.data is None or self.new.data is None:
            return False
        before, after = self.replies
        new_of_old = self.pairing.new_of_old
        return all(
            before.get((one, system.old)) == after.get((new_of_old[one], system.new))
            for one in (new_of_old if items is None else items)
        )

    def _cluster(self, old: str, new: str) -> Hashable:
        """The conversation of a pair of items: the dialogue that either run names, else the item."""
        dialogue = self._dialogues[1].get(new) or self._dialogues[0].get(old)
        return ("item", old) if dialogue is None else ("dialogue", dialogue)

    @cached_property
    def _dialogues(self) -> list[dict[str, str]]:
        """The dialogue of each item of the old run, and of the new one, where it names any."""
        return [
            {
                item: run.scores.dialogues[code]
                for item, code in zip(run.scores.items, run.scores.dialogue_codes.tolist(), strict=True)
                if code >= 0
            }
            for run in (self.old, self.new)
        ]


def load_run(source: RunSource, by_ratings: bool = True) -> LoadedRun:
    """Return a run with its data: of a run folder, of scores, or of a file of replies that were rated and not scored.

    Without ``by_ratings`` scores are needed, so that a file is an error.
    """
    if isinstance(source, Run):
        return LoadedRun(source.scores, load_data(source.folder))
    if isinstance(source, Scores):
        return LoadedRun(source, load_data(source.data) if isinstance(source.data, Path) else source.data)
    if isinstance(source, Collection):
        return LoadedRun(collect_rated_scores(source), source)
    if str(source) == "-" or str(source).startswith(DATASET) or os.path.isfile(source):
        if not by_ratings:
            raise RunError(
                f"{source}: is a file and not a run; score it first: rejoinder score {source} -o "
                f"{Path(source).stem}-run (or compare people's ratings: -m rating:ASPECT)"
            )
        data = read(source, allow_empty=True)
        return LoadedRun(collect_rated_scores(data), data)
    return LoadedRun(load(source), load_data(source))


def pair_runs(
    old: RunSource,
    new: RunSource,
    metrics: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    ignore_signatures: bool = False,
) -> RunPair:
    """Return two runs, paired by item and system, under the metrics that both computed in the same way.

    Metrics that are named must be comparable; of all metrics, those that are not are left out with a sentence. With
    ``ignore_signatures``, metrics count as comparable although their signatures differ.
    """
    ratings = [name for name in metrics or () if is_rating(name)]
    by_ratings = bool(ratings) and len(ratings) == len(metrics or ())
    before, after = load_run(old, by_ratings), load_run(new, by_ratings)
    before, after = (LoadedRun(add_rating_columns(run.scores, run.data, ratings), run.data) for run in (before, after))
    systems_of_both, items = _pair_systems(before.scores, after.scores, systems), _pair_items(before, after)
    differing = _find_differing(before.scores, after.scores)
    specs, left_out = _choose_metrics(before.scores, after.scores, metrics, {} if ignore_signatures else differing)
    return RunPair(before, after, specs, systems_of_both, items, left_out, differing)


def refuse_differing(pair: RunPair) -> RunPair:
    """Return the pair; raise where a metric was left out because its signatures differ."""
    for spec in pair.differing:
        if spec in pair.left_out:
            others = f", or name the metrics to compare (-m {pair.metrics[0]})"
            raise RunError(pair.left_out[spec] + others)
    return pair


def _find_differing(old: Scores, new: Scores) -> dict[str, str]:
    """The metrics of both runs with different signatures, and the parts in which these differ."""
    differing = {}
    for spec in old.facts:
        if spec in new.facts and old.metrics[spec] != new.metrics[spec]:
            before, after = old.metrics[spec].split("|"), new.metrics[spec].split("|")
            only_old, only_new = ([p for p in a if p not in b] for a, b in ((before, after), (after, before)))
            differing[spec] = f"{'|'.join(only_old) or 'nothing'} before, {'|'.join(only_new) or 'nothing'} now"
    return differing


def _choose_metrics(
    old: Scores, new: Scores, names: Sequence[str] | None, differing: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The metrics to compare, and the reason against each of the others."""
    reasons = {}
    for spec in dict.fromkeys([*old.facts, *new.facts]):
        if spec not in old.facts or spec not in new.facts:
            reasons[spec] = f"only the {'new' if spec in new.facts else 'old'} run has {spec}; score both with it"
        elif spec in differing:
            reasons[spec] = (
                f"the two runs computed {spec} differently ({differing[spec]}); score both with the same version, "
                "parameters and weights, or go on with --ignore-signatures"
            )
    if names is None:
        specs = [spec for spec in new.facts if spec not in reasons]
        if not specs and differing:
            raise RunError(reasons[next(iter(differing))])
        if not specs:
            raise RunError(
                f"the two runs have no metric in common: {'; '.join(reasons.values()) or 'they have no scores'}"
            )
        return specs, reasons
    specs = [new.spec(name) for name in names]
    for spec in specs:
        old.spec(spec)
        if spec in reasons:
            raise RunError(reasons[spec])
    return specs, {}


def _pair_systems(old: Scores, new: Scores, names: Sequence[str] | None) -> list[SystemPair]:
    """The systems of the same name; the only system of each run is a pair whatever it is called."""
    if len(old.systems) == len(new.systems) == 1:
        pairs = [SystemPair(old.systems[0], new.systems[0])]
    else:
        pairs = [SystemPair(name, name) for name in old.systems if name in new.systems]
    if not pairs:
        raise RunError(
            f"the two runs have no system in common ({', '.join(old.systems[:6])} before, {', '.join(new.systems[:6])} "
            "now); give the replies of both runs the same system names"
        )
    for name in names or ():
        if name not in [system for pair in pairs for system in pair]:
            raise SpecError(f"no system {name!r} is in both runs; {nearest(name, [pair.new for pair in pairs])}")
    return [pair for pair in pairs if names is None or pair.old in names or pair.new in names]


def _missing_systems(scores: Scores, other: Scores) -> list[str]:
    if len(scores.systems) == len(other.systems) == 1:
        return []
    return [name for name in scores.systems if name not in other.systems]


def _pair_items(old: LoadedRun, new: LoadedRun) -> ItemPairing:
    before, after = (list(dict.fromkeys(run.scores.items)) for run in (old, new))
    return pair_items(before, after, old.data, new.data)


def _item_means(scores: Scores, spec: str, system: str) -> dict[str, float]:
    """The mean score of a system's replies to each item that it answered; NaN where no reply has a score."""
    return _group_means(scores, spec, system, scores.items)


def _dialogue_means(scores: Scores, spec: str, system: str) -> dict[str, float]:
    """The score of each dialogue that a system took part in; NaN where it has none."""
    codes = scores.dialogue_codes.tolist()
    names = [scores.dialogues[code] if code >= 0 else item for code, item in zip(codes, scores.items, strict=True)]
    return _group_means(scores, spec, system, names)


def _find_openings(data: Collection) -> dict[str, str]:
    """The first turn of each dialogue, without a system prompt."""
    openings: dict[str, str] = {}
    for item in data.items.values():
        turns = split_system_turns(item.context)[1]
        if turns and not item.truncated:
            openings.setdefault(item.dialogue or item.id, " ".join(turns[0].text.split()))
    return openings


def _group_means(scores: Scores, spec: str, system: str, groups: Sequence[str]) -> dict[str, float]:
    rows = np.flatnonzero(scores.system_codes == list(scores.systems).index(system))
    names: dict[str, int] = {}
    codes = np.array([names.setdefault(groups[row], len(names)) for row in rows.tolist()], dtype=np.int64)
    column = scores[spec][rows]
    known = ~np.isnan(column)
    n = np.bincount(codes[known], minlength=len(names))
    sums = np.bincount(codes[known], weights=column[known], minlength=len(names))
    means = np.where(n > 0, sums / np.maximum(n, 1), math.nan)
    return dict(zip(names, means.tolist(), strict=True))


def _list_replies(run: LoadedRun) -> dict[tuple[str, str], list[str]]:
    if run.data is None:
        raise InputError("these scores came without their texts; name the run folders to see replies side by side")
    replies: dict[tuple[str, str], list[str]] = {}
    for response in map(run.data.responses.__getitem__, run.scores.responses):
        replies.setdefault((response.item, response.system), []).append(response.text)
    return replies


def describe_pairing(pair: RunPair) -> list[str]:
    """Return what a reader must know about the pairing, in sentences."""
    pairing, notes = pair.pairing, []
    if pairing.by_context:
        n = format_count(len(pairing.new_of_old), "item")
        notes.append(f"No id stands for the same item in both runs: {n} paired by context.")
    if pairing.unknown:
        notes.append(f"{pairing.unknown[0].upper()}{pairing.unknown[1:]}.")
    for names, which in ((pair.only_old_systems, "old"), (pair.only_new_systems, "new")):
        if names:
            plural = "systems" if len(names) > 1 else "system"
            notes.append(f"Only the {which} run has the {plural} {', '.join(names)}: not compared.")
    if pair.changed_dialogues and any(map(pair.is_of_dialogues, pair.metrics)):
        n = format_count(len(pair.changed_dialogues), "dialogue")
        notes.append(f"Scores of whole dialogues: {n} with another first turn under the same id, left out.")
    notes += [
        f"{spec}: the signatures differ ({parts}), so a difference may come from the metric and not from the replies."
        for spec, parts in pair.differing.items()
        if spec in pair.metrics
    ]
    notes += [f"Left out: {reason}." for reason in pair.left_out.values()]
    return notes
