"""The test sets of ``reproduce chosen``: the same questions with well-chosen and with random false candidates.

Contexts and true replies are from DailyDialog's validation and test files. The repository has one register: the
utterances of DailyDialog alone, from those files and from the valid and test splits of the corpora. No utterance of the
train split is used, which the networks are trained on. Random candidates replace the chosen ones of the same questions
and pass the same filters of form and length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rejoinder.data.datasets import read_dataset
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.build import build
from rejoinder.selection.contexts import collect_contexts
from rejoinder.selection.leakage import TrainingTexts, scan_training
from rejoinder.selection.settings import SelectionSettings
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question
from rejoinder_lab.papers.chosen.stored import CandidateKind

CONTEXTS = 750  # of the set on which TF-IDF is measured
LADDER_CONTEXTS = 160  # of the sets that order ladders
LADDER_QUESTIONS = 80  # at most: questions that all of these sets have
LADDER_SETS = 4  # of each kind
SHARE = 0.5  # of the repository's dialogues that a chosen set of a ladder is searched in


class PairedSets(NamedTuple):
    """The same questions in the same order, with chosen and with random false candidates."""

    chosen: tuple[Question, ...]
    random: tuple[Question, ...]


class Material(NamedTuple):
    """What sets are made from."""

    items: Sequence[Item]
    repository: Corpus
    training: TrainingTexts


def read_material(contexts: int) -> Material:
    """Return so many contexts with their true replies, selected with a fixed seed, and the repository."""
    everyday = [d for part in ("valid", "test") for d in _read_dialogues(f"dailydialog/{part}")]
    corpora = list(_read_dialogues("corpus/dialogues"))
    by_id = {item.id: item for item in collect_contexts(everyday, SelectionSettings()).items}
    items = [by_id[name] for name in stable_shuffle(by_id, 0, "contexts")[:contexts]]
    held_out = (d for d in corpora if d.corpus == "dailydialog" and d.split != "train")
    repository = Corpus.of({d.id: d for d in (*held_out, *everyday)}.values())
    return Material(items, repository, scan_training((d for d in corpora if d.split == "train"), items))


def build_pair(material: Material, seed: int = 0, share: float = 1.0) -> PairedSets:
    """Build a chosen set, and a random one of the same questions; questions that only one of them has are left out."""
    settings = SelectionSettings(seed=seed, share=share, second="none")
    chosen = build(material.items, material.repository, settings, training=material.training).questions
    settings = SelectionSettings(seed=seed, random=True, second="none")
    random = build(chosen, material.repository, settings, training=material.training).questions
    both = {question.id for question in random}
    return PairedSets(tuple(question for question in chosen if question.id in both), random)


def build_ladder_sets(
    log: Callable[[str], None] = lambda _: None,
) -> dict[CandidateKind, Sequence[Sequence[Question]]]:
    """Build the sets that order ladders, all of the same questions; each chosen set has its part of the repository."""
    material = read_material(LADDER_CONTEXTS)
    pairs = []
    for seed in range(1, LADDER_SETS + 1):
        pairs.append(build_pair(material, seed, SHARE))
        log(f"sets {seed}: {len(pairs[-1].chosen):,} questions")
    common = set.intersection(*({question.id for question in pair.chosen} for pair in pairs))
    names = [item.id for item in material.items if item.id in common][:LADDER_QUESTIONS]
    log(f"{len(common):,} questions in all sets, {len(names):,} used")
    return {
        CandidateKind.CHOSEN: [_pick(pair.chosen, names) for pair in pairs],
        CandidateKind.RANDOM: [_pick(pair.random, names) for pair in pairs],
    }


def _pick(questions: Iterable[Question], names: Sequence[str]) -> list[Question]:
    by_id = {question.id: question for question in questions}
    return [by_id[name] for name in names]


def _read_dialogues(name: str) -> Iterator[Dialogue]:
    return (record for record in read_dataset(name) if isinstance(record, Dialogue))
