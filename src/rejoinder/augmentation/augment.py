"""``augment``: give items more references, one batch at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.sources import OpenedSources, open_sources
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.augmentation.worker import augment_batches, explain_local_augmentation
from rejoinder.data.inputs import Input
from rejoinder.data.validation import IdChecker
from rejoinder.engines.base import Engine
from rejoinder.errors import InputError
from rejoinder.types import Item, Record

Log: TypeAlias = Callable[[str], None]
BATCH = 32  # items per batch


def augment(
    items: Iterable[Record] | str | Path,
    plan: AugmentationPlan | None = None,
    log: Log | None = None,
    tally: AugmentationTally | None = None,
) -> Iterator[Item]:
    """Yield the items, each with up to k more references after those it had.

    - ``items``: a file or ``dataset:NAME``, a collection, or the items themselves.
    - ``plan``: where references come from, and how many are added.
    - ``log``: called with notes about the sources, such as one that was left out.
    - ``tally``: counts the references that were added, by source, and items that got fewer.

    Items are read as they are needed; all at once only if they serve as the corpus.

    >>> import rejoinder
    >>> plan = rejoinder.augmentation.AugmentationPlan(corpus="dialogues.jsonl", comet=False, k=2, least_aptness=0)
    >>> item = next(rejoinder.augment("items.jsonl", plan))
    >>> item.references[-1].source
    'retrieval'
    """
    if isinstance(items, str | Path):
        with open_items(items) as source:
            yield from augment((record for record, _ in source.input.records(allow_empty=True)), plan, log, tally)
        return
    for record in augment_records(items, plan, log, tally):
        if isinstance(record, Item):
            yield record


class OpenedItems(NamedTuple):
    """An input that was read once completely, and its number of items."""

    input: Input
    n: int


@contextmanager
def open_items(name: str | Path) -> Iterator[OpenedItems]:
    """Open an input and read it once completely, so that its errors are found before any work."""
    source = Input(name)
    try:
        id_checker, items = IdChecker(), 0
        for record, place in source.records(allow_empty=True):
            id_checker.add(record, place)
            items += isinstance(record, Item)
        id_checker.close()
        if not items:
            raise InputError(
                f"{source.called}: has no items; make some from dialogues with: rejoinder import NAME --as items"
            )
        yield OpenedItems(source, items)
    finally:
        source.close()


def augment_records(
    records: Iterable[Record],
    plan: AugmentationPlan | None = None,
    log: Log | None = None,
    tally: AugmentationTally | None = None,
    engine: Engine | None = None,
) -> Iterator[Record]:
    """Yield records of any kind in order, with more references for items; computed by an engine if possible."""
    plan, tally = plan or AugmentationPlan(), tally if tally is not None else AugmentationTally()
    if not plan.k:
        yield from records
        return
    logged = 0

    def log_notes() -> None:
        nonlocal logged
        if log is not None:
            for note in tally.notes[logged:]:
                log(note)
        logged = len(tally.notes)

    reason = explain_local_augmentation(plan)
    sources: OpenedSources | None = None
    if reason is not None or engine is None:
        if reason is not None and log is not None and engine is not None and engine.workers > 1:
            log(reason)
        corpus_records: list[Record] = []
        if plan.corpus is None and plan.retrieval is not None:
            records = corpus_records = list(records)
        sources = open_sources(plan, corpus_records)
        tally.notes += sources.notes
        log_notes()
    waiting: deque[list[Record]] = deque()

    def batches() -> Iterator[list[Item]]:
        for window in _split_batches(records):
            waiting.append(window)
            yield [record for record in window if isinstance(record, Item)]

    for batch in augment_batches(engine, plan, sources, batches(), tally):
        log_notes()
        augmented = iter(batch)
        yield from (next(augmented) if isinstance(record, Item) else record for record in waiting.popleft())


def _split_batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield the records in windows with one batch of items each."""
    window: list[Record] = []
    items = 0
    for record in records:
        items += isinstance(record, Item)
        if items > BATCH:
            yield window
            window, items = [], 1
        window.append(record)
    if window:
        yield window
