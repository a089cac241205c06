"""``augment``: give items more references, one batch at a time."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rejoinder.augmentation.filter import filter_proposals, select_diverse
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.sources import OpenedSources, open_sources
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.data.inputs import Input
from rejoinder.data.validation import IdChecker
from rejoinder.engines.base import Engine
from rejoinder.engines.caching import CachingEngine
from rejoinder.errors import InputError
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Item, Record, Reference, Turn

Log: TypeAlias = Callable[[str], None]
BATCH = 32  # items per batch
_DECIMALS = 4  # of a score: those that are the same on every machine


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
    >>> plan = rejoinder.AugmentationPlan(corpus="dialogues.jsonl", comet=False, k=2)
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
    caching = isinstance(engine, CachingEngine)
    if engine is not None and (engine.workers > 1 or caching):
        from rejoinder.augmentation.worker import explain_local_augmentation

        if (reason := explain_local_augmentation(plan)) is None:
            yield from _augment_by_engine(records, plan, tally, engine, log)
            return
        if log is not None and engine.workers > 1:
            log(reason)
    corpus_records: list[Record] = []
    if plan.corpus is None and plan.retrieval is not None:
        corpus_records = list(records)
        records = corpus_records
    sources = open_sources(plan, corpus_records)
    tally.notes += sources.notes
    if log is not None:
        for note in sources.notes:
            log(note)
    augment_items = _make_local_augmenter(plan, sources, tally, engine)
    for window in _split_batches(records):
        augmented = iter(augment_items([record for record in window if isinstance(record, Item)]))
        yield from (next(augmented) if isinstance(record, Item) else record for record in window)


def _make_local_augmenter(
    plan: AugmentationPlan, sources: OpenedSources, tally: AugmentationTally, engine: Engine | None
) -> Callable[[Sequence[Item]], Iterable[Item]]:
    """Return a function that augments items in this process; with a caching engine, results are cached if possible."""
    if isinstance(engine, CachingEngine) and not plan.adapt:
        from rejoinder.augmentation.worker import make_caching_augmenter

        return make_caching_augmenter(engine, plan, sources, tally)
    return Augmenter(plan, sources, tally).augment_items


def _augment_by_engine(
    records: Iterable[Record], plan: AugmentationPlan, tally: AugmentationTally, engine: Engine, log: Log | None
) -> Iterator[Record]:
    """Yield the records in order, while an engine's workers augment batches of their items."""
    from rejoinder.augmentation.worker import augment_by_engine

    waiting: deque[list[Record]] = deque()

    def batches() -> Iterator[list[Item]]:
        for window in _split_batches(records):
            waiting.append(window)
            yield [record for record in window if isinstance(record, Item)]

    sent_notes: set[str] = set()
    for batch in augment_by_engine(engine, plan, batches(), tally):
        for note in tally.notes:
            if log is not None and note not in sent_notes:
                sent_notes.add(note)
                log(note)
        augmented = iter(batch)
        yield from (next(augmented) if isinstance(record, Item) else record for record in waiting.popleft())


def to_references(proposals: Iterable[Proposal]) -> tuple[Reference, ...]:
    """Proposals as references."""
    return tuple(Reference(p.text, p.source, _round_score(p.score), p.origin) for p in proposals)


def _round_score(score: float | None) -> float | None:
    return None if score is None or not math.isfinite(score) else round(score, _DECIMALS)


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


@dataclasses.dataclass
class Augmenter:
    """Augments batches of items; ``adaptations_left`` is how many texts may still be adapted."""

    plan: AugmentationPlan
    sources: OpenedSources
    tally: AugmentationTally

    def __post_init__(self) -> None:
        self.adaptations_left = self.plan.adapt

    def augment_items(self, items: Sequence[Item]) -> list[Item]:
        """Return items with more references."""
        proposals: list[list[Proposal]] = [[] for _ in items]
        for propose in self.sources.propose if items else ():
            for of_item, new in zip(proposals, propose(items), strict=True):
                of_item += new
        filtered = filter_proposals(items, proposals, self.plan.least_aptness)
        chosen = [select_diverse(item, one.remaining, self.plan.k) for item, one in zip(items, filtered, strict=True)]
        if self.adaptations_left is not None:
            chosen = self._adapt(items, chosen)
        for item, one, of_item in zip(items, filtered, chosen, strict=True):
            self.tally.add(item, one, of_item, self.plan)
        return [
            dataclasses.replace(item, references=(*item.references, *to_references(of_item)))
            for item, of_item in zip(items, chosen, strict=True)
        ]

    def _adapt(self, items: Sequence[Item], chosen: Sequence[Sequence[Proposal]]) -> list[list[Proposal]]:
        """Return the chosen proposals, adapted to their contexts if that improves them and repeats nothing."""
        from rejoinder.augmentation.adaptation import adapt

        pairs = [(item.context, proposal) for item, of_item in zip(items, chosen, strict=True) for proposal in of_item]
        adapt_pairs = functools.partial(adapt, pairs, self.plan.delorean, self.plan.acceptance, model=self.plan.model)
        before = adapt_pairs(most=0)
        missing = {_pair_key(pair) for pair, one in zip(pairs, before, strict=True) if one.verdict == "not tried"}
        outcomes = adapt_pairs(most=self.adaptations_left) if self.adaptations_left and missing else before
        self.adaptations_left = max(0, (self.adaptations_left or 0) - len(missing))
        self.tally.adapted.update(outcome.verdict for outcome in outcomes)
        remaining = iter(outcomes)
        return [
            _undo_repetitions(item, of_item, [next(remaining).proposal for _ in of_item])
            for item, of_item in zip(items, chosen, strict=True)
        ]


def _pair_key(pair: tuple[tuple[Turn, ...], Proposal]) -> tuple[tuple[Turn, ...], str]:
    return pair[0], pair[1].text


def _undo_repetitions(item: Item, before: Sequence[Proposal], after: Sequence[Proposal]) -> list[Proposal]:
    """Return the adapted proposals, but the originals of those that now repeat another text."""
    texts = {normalise_text(text) for text in (*(r.text for r in item.references), *(t.text for t in item.context))}
    texts |= {normalise_text(proposal.text) for proposal in before}
    chosen = []
    for old, new in zip(before, after, strict=True):
        repeats = new.text != old.text and normalise_text(new.text) in texts
        chosen.append(old if repeats else new)
        texts.add(normalise_text(chosen[-1].text))
    return chosen
