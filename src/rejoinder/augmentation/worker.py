"""Augmentation by an engine: workers open the sources once and augment batches of items."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rejoinder.augmentation.acceptance import Acceptance
from rejoinder.augmentation.augmenter import Augmenter
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.augmentation.sources import OpenedSources, open_sources
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.data.objects import to_object
from rejoinder.data.schema import from_worker
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.caching import compute_here
from rejoinder.engines.local import LocalEngine
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.types import Item


def explain_local_augmentation(plan: AugmentationPlan) -> str | None:
    """Return why a plan cannot be computed by workers, in one sentence; None if it can."""
    if plan.corpus is None and plan.retrieval is not None:
        return "the items themselves are searched, so one process computes all of them; name a corpus to use several"
    if plan.adapt:
        return "the number of adapted texts is limited over all items, so one process computes all of them"
    return None


class AugmentWorker:
    """A plan with its opened sources."""

    def __init__(self, plan: Mapping[str, Any], sources: OpenedSources | None = None) -> None:
        self._plan = augmentation_plan_from_values(plan)
        self._sources = sources or open_sources(self._plan, [])

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """Return items with more references, the counts, and the notes about the sources."""
        tally = AugmentationTally()
        augmented = Augmenter(self._plan, self._sources, tally).augment_items(from_worker(Item, task))
        return [[to_object(item) for item in augmented], tally.plain(), list(self._sources.notes)]

    def close(self) -> None:
        """Nothing to release."""


def augment_batches(
    engine: Engine | None,
    plan: AugmentationPlan,
    sources: OpenedSources | None,
    batches: Iterable[Sequence[Item]],
    tally: AugmentationTally,
) -> Iterator[list[Item]]:
    """Yield every batch of items with more references, in order; in this process where the sources are open."""
    values = dataclasses.asdict(plan)
    if sources is not None:
        if engine is None or plan.adapt:  # the number of adaptations that are left depends on earlier batches
            yield from map(Augmenter(plan, sources, tally).augment_items, batches)
            return
        engine = compute_here(engine, AugmentWorker(values, sources))
    work = WorkerSpec("rejoinder.augmentation.worker:AugmentWorker", (values,))
    tasks = ([to_object(item) for item in batch] for batch in batches)
    for objects, counts, notes in order_results((engine or LocalEngine()).compute(work, tasks)):
        tally.add_counts(counts)
        tally.notes += [note for note in notes if note not in tally.notes]
        yield from_worker(Item, objects)


def augmentation_plan_from_values(values: Mapping[str, Any]) -> AugmentationPlan:
    """Return a plan from plain values."""
    parts = {
        "retrieval": None if values["retrieval"] is None else _plan_part_from_values(Retrieval, values["retrieval"]),
        "delorean": _plan_part_from_values(DeloreanSettings, values["delorean"]),
        "acceptance": _plan_part_from_values(Acceptance, values["acceptance"]),
        "knowledge": tuple(values["knowledge"]),
    }
    return AugmentationPlan(**{**values, **parts})


def _plan_part_from_values(kind: Any, values: Mapping[str, Any]) -> Any:
    """Return a value of a class; JSON has lists instead of tuples."""
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})
