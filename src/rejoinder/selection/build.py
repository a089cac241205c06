"""The verb: dialogues and a repository in, questions with well-chosen false candidates and their card out.

Sato et al. 2020, section 3: ``find_pools`` finds utterances that are like the true reply, ``make_questions`` removes
what is acceptable after all or ungrammatical and makes questions of the rest, ``build`` does both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_file import load_acceptability
from rejoinder.selection.assembly import QuestionAssembler
from rejoinder.selection.card import make_card
from rejoinder.selection.human_scores import HumanScores, attach_scores, get_ratings
from rejoinder.selection.inputs import Files, open_inputs
from rejoinder.selection.leakage import TrainingTexts
from rejoinder.selection.model_pass import Progress, attach_acceptability
from rejoinder.selection.pools import PoolSearch, open_pool_search
from rejoinder.selection.settings import SelectionSettings
from rejoinder.selection.worker import PoolEngine
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question, Record

_WINDOW = 256  # pools that are found and judged together


@dataclass(frozen=True)
class BuiltTestSet:
    """A test set: its questions, its card, and the pools that they were made of."""

    questions: tuple[Question, ...]
    card: Mapping[str, Any] = field(hash=False)
    pools: tuple[Question, ...] = ()


@dataclass(frozen=True)
class PoolSet:
    """Pools on their way to people, and what the card will say of how they were found."""

    questions: tuple[Question, ...]
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)


def build(
    dialogues: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    settings: SelectionSettings | None = None,
    *,
    training: Iterable[Record] | TrainingTexts | Files = (),
    known: Acceptability | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    progress: Progress | None = None,
    elsewhere: PoolEngine | None = None,
) -> BuiltTestSet:
    """A test set with well-chosen false candidates that nobody but the model has judged.

    - ``dialogues``: what questions are made of: dialogues, items or questions, or the files that have them; a name may
      end in ``@SPLIT``.
    - ``repository``: where candidates are found: dialogues, a ``Corpus``, or files.
    - ``settings``: how questions are built.
    - ``training``: what systems were trained on and must not meet again: records or files.
    - ``known``: from which score on the judge of the settings calls a candidate acceptable; what the package knows of
      it, where nothing is given.
    - ``inputs``: more that the card says of files.
    - ``progress``: is told how many contexts are done, and of how many.
    - ``elsewhere``: an engine whose workers find the pools.

    >>> import rejoinder
    >>> settings = rejoinder.SelectionSettings(random=True, questions=5)
    >>> built = rejoinder.build("dialogues.jsonl", "others.jsonl", settings)
    >>> len(built.questions), len(built.questions[0].candidates)
    (5, 4)
    >>> rejoinder.write(built.questions, "set.jsonl")
    5
    """
    settings = settings or SelectionSettings()
    known = _resolve_judge(settings, known)
    opened = open_inputs(dialogues, repository, training, inputs)
    work = open_pool_search(opened.contexts, opened.repository, settings, opened.training)
    assembling = QuestionAssembler(settings, by_people=False, known=known)
    pools: list[Question] = []
    made: dict[str, list[Question]] = {}
    wanted, n = settings.questions or 2 * len(work.items), 0
    for pool in _iterate_pools(work, known, wanted, progress, elsewhere):
        made[pool.id] = assembling.questions(pool)[: wanted - n]
        pools.append(pool)
        n += len(made[pool.id])
        if n == wanted:
            break
    questions = [question for item in work.items for question in made.get(item.id, ())]
    return _finish_test_set(questions, pools, assembling, work.facts, opened.facts)


def find_pools(
    dialogues: Iterable[Dialogue | Item | Question] | Files,
    repository: Iterable[Dialogue] | Corpus | Files,
    settings: SelectionSettings | None = None,
    *,
    training: Iterable[Record] | TrainingTexts | Files = (),
    known: Acceptability | None = None,
    inputs: Sequence[Mapping[str, Any]] = (),
    progress: Progress | None = None,
    elsewhere: PoolEngine | None = None,
) -> PoolSet:
    """Pools for people to score, as many as questions are wanted; the model's opinion goes with them.

    - ``dialogues``: what questions are made of: dialogues, items or questions, or the files that have them; a name may
      end in ``@SPLIT``.
    - ``repository``: where candidates are found: dialogues, a ``Corpus``, or files.
    - ``settings``: how questions are built.
    - ``training``: what systems were trained on and must not meet again: records or files.
    - ``known``: from which score on the judge of the settings calls a candidate acceptable; what the package knows of
      it, where nothing is given.
    - ``inputs``: more that the card says of files.
    - ``progress``: is told how many contexts are done, and of how many.
    - ``elsewhere``: an engine whose workers find the pools.

    >>> import rejoinder
    >>> settings = rejoinder.SelectionSettings(sources=("bm25(query='reply')",), questions=5)
    >>> pools = rejoinder.find_pools("dialogues.jsonl", "others.jsonl", settings)
    >>> len(pools.questions)
    5
    """
    settings = settings or SelectionSettings()
    opened = open_inputs(dialogues, repository, training, inputs)
    work = open_pool_search(opened.contexts, opened.repository, settings, opened.training)
    wanted = settings.questions or len(work.items)
    found = {
        pool.id: pool
        for pool in islice(_iterate_pools(work, _resolve_judge(settings, known), wanted, progress, elsewhere), wanted)
    }
    in_order = tuple(found[item.id] for item in work.items if item.id in found)
    return PoolSet(in_order, {**work.facts, "inputs": opened.facts})


def make_questions(
    pools: PoolSet,
    settings: SelectionSettings | None = None,
    scores: HumanScores | None = None,
    known: Acceptability | None = None,
) -> BuiltTestSet:
    """The test set that people's scores (or else the model's) make of pools.

    - ``pools``: what ``find_pools`` found.
    - ``settings``: how questions are built.
    - ``scores``: what people said of the candidates.
    - ``known``: what is known of the judge of the settings.

    >>> import rejoinder
    >>> settings = rejoinder.SelectionSettings(sources=("bm25(query='reply')",), judge=None, false=1)
    >>> pools = rejoinder.find_pools("dialogues.jsonl", "others.jsonl", settings)
    >>> len(rejoinder.make_questions(pools, settings).questions) > 0
    True
    """
    settings = settings or SelectionSettings()
    scored = attach_scores(pools.questions, scores) if scores is not None else list(pools.questions)
    by_people = any(get_ratings(one) for pool in scored for one in pool.candidates)
    known = _resolve_judge(settings, known)
    if known is not None:
        scored = attach_acceptability(scored, parse(known.metric), known)
    assembling = QuestionAssembler(settings, by_people, known)
    questions = [question for pool in scored for question in assembling.questions(pool)][: settings.questions]
    return _finish_test_set(questions, scored, assembling, pools.facts, pools.facts.get("inputs", ()))


def _iterate_pools(
    work: PoolSearch, known: Acceptability | None, wanted: int, progress: Progress | None, elsewhere: PoolEngine | None
) -> Iterator[Question]:
    """The pools one after the other, in an order that the seed draws where not all are wanted."""
    settings = work.proposing.settings
    by_id = {item.id: item for item in work.items}
    order = stable_shuffle(by_id, settings.seed, "questions") if wanted < len(by_id) else list(by_id)
    if elsewhere is not None and elsewhere.engine.workers > 1:
        done = 0
        for pools in elsewhere.pools(settings, order):
            done += len(pools)
            if progress is not None:
                progress(done, len(order))
            yield from pools
        return

    def found(names: Sequence[str]) -> list[Question]:
        pools = work.proposing.pools([by_id[name] for name in names])
        if known is not None and not settings.random:
            pools = attach_acceptability(pools, parse(known.metric), known)
        return pools

    for start in range(0, len(order), _WINDOW):
        names = order[start : start + _WINDOW]
        pools = found(names) if elsewhere is None else elsewhere.kept_here(settings, names, found)
        if progress is not None:
            progress(min(start + _WINDOW, len(order)), len(order))
        yield from pools


def _resolve_judge(settings: SelectionSettings, known: Acceptability | None) -> Acceptability | None:
    """What is known of the judge of the settings; None where there is none."""
    if settings.judge is None or settings.random:
        return None
    return known if known is not None else load_acceptability(parse(settings.judge))


def _finish_test_set(
    questions: Sequence[Question],
    pools: Sequence[Question],
    assembling: QuestionAssembler,
    facts: Mapping[str, Any],
    inputs: Sequence[Mapping[str, Any]],
) -> BuiltTestSet:
    if not questions:
        why = ", ".join(f"{n:,} {what}" for what, n in sorted(assembling.counts.items()) if n)
        raise InputError(
            f"no question can be made of {len(pools):,} pools ({why}); "
            f"{assembling.settings.false} false candidates are needed: give a larger repository or a larger --pool"
        )
    return BuiltTestSet(tuple(questions), make_card(questions, pools, assembling, facts, inputs), tuple(pools))
