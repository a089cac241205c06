"""Augmentation by an engine: workers open the sources once and augment batches of items."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rejoinder.augmentation.acceptance import Acceptance
from rejoinder.augmentation.augmenter import Augmenter
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.augmentation.sources import OpenedSources, open_sources
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.data.objects import to_object
from rejoinder.data.schema import Place, from_object
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.caching import CachingEngine
from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.types import Item

_PLACE = Place("items", 0)


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
        items = [record for record in (from_object(one, _PLACE, True) for one in task) if isinstance(record, Item)]
        tally = AugmentationTally()
        augmented = Augmenter(self._plan, self._sources, tally).augment_items(items)
        return [[to_object(item) for item in augmented], tally.plain(), list(self._sources.notes)]

    def close(self) -> None:
        """Nothing to release."""


def augment_by_engine(
    engine: Engine, plan: AugmentationPlan, batches: Iterable[Sequence[Item]], tally: AugmentationTally
) -> Iterator[list[Item]]:
    """Yield every batch of items with more references, in order."""
    tasks = ([to_object(item) for item in batch] for batch in batches)
    for result in order_results(engine.compute(_worker_spec(plan), tasks)):
        yield _collect_items(result, tally)


def make_caching_augmenter(
    engine: CachingEngine, plan: AugmentationPlan, sources: OpenedSources, tally: AugmentationTally
) -> Callable[[Sequence[Item]], list[Item]]:
    """Return a function that augments items in this process, with open sources, unless the results are cached."""
    worker = AugmentWorker(dataclasses.asdict(plan), sources)

    def augment_items(items: Sequence[Item]) -> list[Item]:
        task = [to_object(item) for item in items]
        return _collect_items(engine.value(_worker_spec(plan), task, worker.compute), tally)

    return augment_items


def _worker_spec(plan: AugmentationPlan) -> WorkerSpec:
    return WorkerSpec(
        "rejoinder.augmentation.worker:AugmentWorker",
        (dataclasses.asdict(plan),),
    )


def _collect_items(result: Sequence[Any], tally: AugmentationTally) -> list[Item]:
    """Return the items of a result, and add its counts to the tally."""
    objects, counts, notes = result
    tally.add_counts(counts)
    tally.notes += [note for note in notes if note not in tally.notes]
    return [record for record in (from_object(one, _PLACE, True) for one in objects) if isinstance(record, Item)]


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
