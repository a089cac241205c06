"""``build``: make questions with well-chosen false candidates, and their card, from dialogues and a repository.

Sato et al. 2020, section 3: ``find_pools`` finds utterances that resemble the true reply, ``make_questions`` drops
those that are acceptable or ungrammatical and makes questions of the rest, ``build`` does both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rejoinder.errors import InputError
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_rules import HumanScores
from rejoinder.selection.assembly import QuestionAssembler
from rejoinder.selection.card import make_selection_card
from rejoinder.selection.human_scores import attach_human_scores, get_human_scores
from rejoinder.selection.inputs import Files, open_build_inputs
from rejoinder.selection.leakage import TrainingTexts
from rejoinder.selection.model_pass import Progress, attach_acceptability
from rejoinder.selection.pools import open_pool_search
from rejoinder.selection.settings import SelectionSettings
from rejoinder.selection.worker import PoolEngine, PoolWorker, parse_judge, resolve_judge, split_names
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question, Record


@dataclass(frozen=True)
class BuiltTestSet:
    """A test set: its questions, its card, and the pools that the questions were made from."""

    questions: tuple[Question, ...]
    card: Mapping[str, Any] = field(hash=False)
    pools: tuple[Question, ...] = ()


@dataclass(frozen=True)
class PoolSet:
    """Pools for people to judge, and what the card will say about how they were found."""

    questions: tuple[Question, ...]
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


def build(
    dialogues: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    settings: SelectionSettings | None = None,
    *,
    training: Iterable[Record] | TrainingTexts | Files = (),
    acceptability: Acceptability | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    progress: Progress | None = None,
    pool_engine: PoolEngine | None = None,
) -> BuiltTestSet:
    """Build a test set with well-chosen false candidates; no person has judged them, only the model.

    - ``dialogues``: what questions are made from: dialogues, items or questions, or files of them; a file name may end
      in ``@SPLIT``.
    - ``repository``: where candidates are searched: dialogues, a ``Corpus``, or files.
    - ``settings``: how questions are built.
    - ``training``: what the systems were trained on and must not meet again: records or files.
    - ``acceptability``: the measurements of the settings' judge, with the score from which it calls a candidate
      acceptable; by default, those that come with the package.
    - ``inputs``: further entries for the card's list of input files.
    - ``progress``: called with the number of contexts done and the total.
    - ``pool_engine``: an engine whose workers find the pools.

    >>> import rejoinder
    >>> settings = rejoinder.selection.SelectionSettings(random=True, questions=5)
    >>> built = rejoinder.build("dialogues.jsonl", "others.jsonl", settings)
    >>> len(built.questions), len(built.questions[0].candidates)
    (5, 4)
    >>> rejoinder.write(built.questions, "set.jsonl")
    5
    """
    search = _open_search(dialogues, repository, settings, training, acceptability, inputs, progress, pool_engine)
    items = search.worker.search.items
    assembler = QuestionAssembler(search.settings, by_people=False, acceptability=search.worker.acceptability)
    pools: list[Question] = []
    by_pool: dict[str, list[Question]] = {}
    wanted, n = search.settings.questions or 2 * len(items), 0
    for pool in search.pools(wanted):
        by_pool[pool.id] = assembler.questions(pool)[: wanted - n]
        pools.append(pool)
        n += len(by_pool[pool.id])
        if n == wanted:
            break
    questions = [question for item in items for question in by_pool.get(item.id, ())]
    return _finish_test_set(questions, pools, assembler, search.worker.search.facts, search.inputs)


def find_pools(
    dialogues: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    settings: SelectionSettings | None = None,
    *,
    training: Iterable[Record] | TrainingTexts | Files = (),
    acceptability: Acceptability | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    progress: Progress | None = None,
    pool_engine: PoolEngine | None = None,
) -> PoolSet:
    """Find pools for people to score, as many as questions are wanted; the model's scores are included.

    - ``dialogues``: what questions are made from: dialogues, items or questions, or files of them; a file name may end
      in ``@SPLIT``.
    - ``repository``: where candidates are searched: dialogues, a ``Corpus``, or files.
    - ``settings``: how questions are built.
    - ``training``: what the systems were trained on and must not meet again: records or files.
    - ``acceptability``: the measurements of the settings' judge, with the score from which it calls a candidate
      acceptable; by default, those that come with the package.
    - ``inputs``: further entries for the card's list of input files.
    - ``progress``: called with the number of contexts done and the total.
    - ``pool_engine``: an engine whose workers find the pools.

    >>> import rejoinder
    >>> settings = rejoinder.selection.SelectionSettings(sources=("bm25(query='reply')",), questions=5)
    >>> pools = rejoinder.selection.find_pools("dialogues.jsonl", "others.jsonl", settings)
    >>> len(pools.questions)
    5
    """
    search = _open_search(dialogues, repository, settings, training, acceptability, inputs, progress, pool_engine)
    items = search.worker.search.items
    wanted = search.settings.questions or len(items)
    by_id = {pool.id: pool for pool in islice(search.pools(wanted), wanted)}
    in_order = tuple(by_id[item.id] for item in items if item.id in by_id)
    return PoolSet(in_order, {**search.worker.search.facts, "inputs": search.inputs})


def make_questions(
    pools: PoolSet,
    settings: SelectionSettings | None = None,
    scores: HumanScores | None = None,
    acceptability: Acceptability | None = None,
) -> BuiltTestSet:
    """Make a test set from pools, by people's scores or, without them, by the model's.

    - ``pools``: what ``find_pools`` returned.
    - ``settings``: how questions are built.
    - ``scores``: the scores that people gave the candidates.
    - ``acceptability``: the measurements of the settings' judge.

    >>> import rejoinder
    >>> settings = rejoinder.selection.SelectionSettings(sources=("bm25(query='reply')",), judge=None, false=1)
    >>> pools = rejoinder.selection.find_pools("dialogues.jsonl", "others.jsonl", settings)
    >>> len(rejoinder.selection.make_questions(pools, settings).questions) > 0
    True
    """
    settings = settings or SelectionSettings()
    scored = attach_human_scores(pools.questions, scores) if scores is not None else list(pools.questions)
    by_people = any(get_human_scores(candidate) for pool in scored for candidate in pool.candidates)
    acceptability = resolve_judge(settings, acceptability)
    if acceptability is not None:
        scored = attach_acceptability(scored, parse_judge(settings, acceptability), acceptability)
    assembler = QuestionAssembler(settings, by_people, acceptability)
    questions = [question for pool in scored for question in assembler.questions(pool)][: settings.questions]
    return _finish_test_set(questions, scored, assembler, pools.facts, pools.facts.get("inputs", ()))


@dataclass(frozen=True, eq=False)
class _JudgedSearch:
    """A search for pools by this process or an engine: what ``build`` and ``find_pools`` share."""

    settings: SelectionSettings
    worker: PoolWorker
    inputs: Sequence[Mapping[str, Any]]
    progress: Progress | None
    pool_engine: PoolEngine | None

    def pools(self, wanted: int) -> Iterator[Question]:
        """Yield the pools one by one, in a random order set by the seed if not all are wanted."""
        ids = [item.id for item in self.worker.search.items]
        order = stable_shuffle(ids, self.settings.seed, "questions") if wanted < len(ids) else ids
        done = 0
        for pools in self._pool_batches(order):
            done += len(pools)
            if self.progress is not None:
                self.progress(done, len(order))
            yield from pools

    def _pool_batches(self, order: Sequence[str]) -> Iterator[list[Question]]:
        if self.pool_engine is None:
            return map(self.worker.find, split_names(order))
        return self.pool_engine.find(self.worker, self.settings, order)


def _open_search(
    dialogues: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    settings: SelectionSettings | None,
    training: Iterable[Record] | TrainingTexts | Files,
    acceptability: Acceptability | None,
    inputs: Sequence[Mapping[str, Any]],
    progress: Progress | None,
    pool_engine: PoolEngine | None,
) -> _JudgedSearch:
    settings = settings or SelectionSettings()
    acceptability = resolve_judge(settings, acceptability)
    records = open_build_inputs(dialogues, repository, training, inputs)
    source = open_pool_search(records.contexts, records.repository, settings, records.training)
    return _JudgedSearch(settings, PoolWorker(source, settings, acceptability), records.facts, progress, pool_engine)


def _finish_test_set(
    questions: Sequence[Question],
    pools: Sequence[Question],
    assembler: QuestionAssembler,
    facts: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
) -> BuiltTestSet:
    if not questions:
        counts = ", ".join(f"{n:,} {what}" for what, n in sorted(assembler.counts.items()) if n)
        raise InputError(
            f"no question can be made from {len(pools):,} pool{'s' * (len(pools) != 1)} ({counts}); each needs "
            f"{assembler.settings.false} false candidates: use a larger repository or larger pools"
        )
    return BuiltTestSet(tuple(questions), make_selection_card(questions, pools, assembler, facts, inputs), tuple(pools))
