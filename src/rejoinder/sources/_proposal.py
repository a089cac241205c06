"""Candidates for each item of a file, from any source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.data.inputs import Input, read
from rejoinder.errors import InputError
from rejoinder.indexes.corpus import Corpus
from rejoinder.sources._base import Source, parse_source
from rejoinder.types import Dialogue, Item, Question


@dataclass(frozen=True)
class ProposedQuestions:
    """Items with candidates as questions; the number of items, and how many got fewer candidates than requested."""

    questions: Sequence[Question]
    n_items: int
    n_short: int


def propose(
    items: Iterable[Item] | str | Path,
    corpus: Corpus | Iterable[Dialogue] | str | Path,
    source: Source | str,
    k: int = 10,
    seed: int = 0,
) -> ProposedQuestions:
    """Return the candidates that a source proposes for each item, as questions without grades.

    - ``items``: items, or a file that has some.
    - ``corpus``: dialogues, a ``Corpus``, or a file.
    - ``source``: a source or its spec, one of ``list_("sources")``.
    - ``k``: the largest number of candidates per item.
    - ``seed``: the seed of random draws.

    >>> import rejoinder
    >>> made = rejoinder.propose("items.jsonl", "dialogues.jsonl", "bm25", k=3)
    >>> len(made.questions[0].candidates)
    3
    """
    parsed_source = parse_source(source) if isinstance(source, str) else source
    wanted_items = _read_items(items) if isinstance(items, str | Path) else list(items)
    if not isinstance(corpus, Corpus):
        corpus = Corpus.of(_read_dialogues(corpus) if isinstance(corpus, str | Path) else corpus)
    candidate_lists = parsed_source.over(corpus).propose(wanted_items, k, seed)
    questions = [
        Question(item.id, item.context, tuple(candidates), item.situation, item.dialogue, None, item.meta)
        for item, candidates in zip(wanted_items, candidate_lists, strict=True)
        if candidates
    ]
    return ProposedQuestions(questions, len(wanted_items), sum(len(candidates) < k for candidates in candidate_lists))


def _read_items(file: str | Path) -> list[Item]:
    items = list(read(file, allow_empty=True).items.values())
    if not items:
        raise InputError(f"{file}: there are no items; make some from dialogues with: rejoinder import NAME --as items")
    return items


def _read_dialogues(file: str | Path) -> Iterator[Dialogue]:
    source = Input(file)
    try:
        yield from (record for record, _ in source.records(allow_empty=True) if isinstance(record, Dialogue))
    finally:
        source.close()
