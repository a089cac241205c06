"""``situate``: make questions with distractors and situations, and their card, from seeds (SUGAR, step 7).

>>> from rejoinder.data.inputs.seeds import read_seeds
>>> made = situate(read_seeds("dataset:sugar/0/train"))  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.inputs.seeds import REFERENCE, Seed, check_statement_category, read_seeds
from rejoinder.data.questions import DISTRACTORS
from rejoinder.errors import InputError
from rejoinder.models.encoder.centred import load_centred_encoder
from rejoinder.seeded import stable_hash
from rejoinder.selection.inputs import BuildInput
from rejoinder.situation.card import make_situation_card
from rejoinder.situation.contradictions import ContradictionKeywords, read_contradiction_keywords
from rejoinder.situation.distractors import Distractors, Progress, draw_distractors, filter_adversarially
from rejoinder.situation.seed_vectors import Encode, SeedVectors, encode_seeds
from rejoinder.situation.settings import SituationSettings
from rejoinder.situation.statements import (
    ChosenStatements,
    GrowingSituation,
    StatementPool,
    choose_further_statements,
    choose_situation_statements,
    collect_statements,
)
from rejoinder.stats.arrays import Floats
from rejoinder.types import Candidate, Question, Statement, Turn

DISTRACTOR = "distractor"


def build_situation(
    vectors: SeedVectors, pool: StatementPool, place: int, distractors: Sequence[int]
) -> ChosenStatements:
    """Choose the statements of a seed's question, given its distractors."""
    seed, settings = vectors.seeds[place], vectors.settings
    relevant = list(dict.fromkeys(pool.place(one) for one in seed.statements))
    candidate_places = [place, *distractors]
    texts = [vectors.seeds[one].reply for one in candidate_places]
    chooser = GrowingSituation(pool, texts, vectors.replies[candidate_places], relevant, settings.overlap)
    near = np.zeros(len(pool.statements), bool)
    near[[pool.place(one) for other in distractors for one in vectors.seeds[other].statements]] = True
    choice = choose_situation_statements(chooser, relevant, near, settings.statements)
    more = max(0, int(DISTRACTORS[-1]) - len(choice.added))
    return ChosenStatements(
        choice.relevant,
        choice.near,
        choice.filled,
        choose_further_statements(chooser, more, _make_generator(vectors, seed, "more")),
    )


def build_question(
    vectors: SeedVectors, pool: StatementPool, place: int, distractors: Sequence[int], choice: ChosenStatements
) -> Question:
    """Return the question of a seed; its candidates have no grades yet."""
    seed = vectors.seeds[place]
    candidate_places = [place, *distractors]
    candidates = [
        Candidate(vectors.seeds[one].reply, vectors.seeds[one].id, source=REFERENCE if one == place else DISTRACTOR)
        for one in candidate_places
    ]
    order = _make_generator(vectors, seed, "candidates").permutation(len(candidate_places))
    situation, _ = _order_statements(vectors, pool, seed, choice.relevant, choice.added, "situation")
    expanded, places = _order_statements(
        vectors, pool, seed, choice.relevant, (*choice.added, *choice.further), "expanded"
    )
    meta: dict[str, Any] = {
        "goal": seed.goal,
        "polarity": seed.polarity,
        "has_bad": None,  # until people have graded the candidates
        "expanded": [{"text": one.text, "category": one.category, "relevant": one.relevant} for one in expanded],
        "distractors": {n: places[: int(n)] for n in DISTRACTORS if int(n) <= len(places)},
    }
    turns = (Turn(seed.request, "user"),)
    return Question(seed.id, turns, tuple(candidates[n] for n in order), situation, split=seed.split, meta=meta)


def _order_statements(
    vectors: SeedVectors, pool: StatementPool, seed: Seed, relevant: Sequence[int], added: Sequence[int], what: str
) -> tuple[tuple[Statement, ...], list[int]]:
    """Return the statements in random order, and the places of the added ones, in the order they were added."""
    whole = [*((place, True) for place in relevant), *((place, False) for place in added)]
    order = _make_generator(vectors, seed, what).permutation(len(whole))
    statements = tuple(
        Statement(pool.statements[whole[n][0]].text, pool.statements[whole[n][0]].category, whole[n][1]) for n in order
    )
    position_of = {int(n): place for place, n in enumerate(order)}
    return statements, [position_of[n] for n in range(len(relevant), len(whole))]


def _make_generator(vectors: SeedVectors, seed: Seed, what: str) -> np.random.Generator:
    return np.random.default_rng(stable_hash(vectors.settings.seed, what, seed.id))


@dataclass(frozen=True)
class SituatedSet:
    """A situated set: its questions, not graded yet, and its card."""

    questions: tuple[Question, ...]
    card: Mapping[str, Any] = field(hash=False)


def situate(
    seeds: Sequence[Seed | str | Path] | str | Path,
    settings: SituationSettings | None = None,
    keywords: ContradictionKeywords | str | Path | None = None,
    *,
    inputs: Sequence[Mapping[str, Any]] = (),
    encode: Encode | None = None,
    progress: Progress | None = None,
) -> SituatedSet:
    """Make a situated test set: one question, not graded yet, for each seed that has a distractor.

    - ``seeds``: files of seeds, questions or items, ``dataset:NAME``, or seeds.
    - ``settings``: how many candidates and statements a question gets, and how they are chosen.
    - ``keywords``: keywords of statements that contradict each other, or a file of them; by default, the package's own.
    - ``inputs``: further entries for the card's list of input files.
    - ``encode``: a function that returns embeddings; by default, the encoder of the settings.
    - ``progress``: called with the number of folds done in all rounds of the filter and the total.

    >>> import rejoinder
    >>> made = rejoinder.situate("seeds.jsonl", rejoinder.situation.SituationSettings(candidates=3, seed=1))
    >>> len(made.questions) > 0
    True
    """
    settings = settings or SituationSettings()
    if isinstance(keywords, str | Path):
        keywords = read_contradiction_keywords(keywords)
    seeds, facts = _open_seeds(seeds)
    inputs = [*inputs, *facts]
    _check_seeds(seeds)
    encoder_name = "vectors that were given" if encode else describe_situation_encoder(settings)
    encode = encode or make_text_encoder(settings)
    vectors = encode_seeds(seeds, settings, encode)
    first = draw_distractors(vectors)
    if not any(first):
        raise InputError(
            f"none of the {len(seeds):,} seeds has a distractor (a reply of the same polarity that is not similar to "
            "its own, with another request and goal); use more seeds, or raise similarity or overlap"
        )
    chosen, rounds = filter_adversarially(vectors, first, progress)
    pool = collect_statements(seeds, settings, keywords or read_contradiction_keywords(), encode)
    situations = [build_situation(vectors, pool, place, chosen[place]) for place in range(len(seeds))]
    questions = [
        build_question(vectors, pool, place, chosen[place], situations[place])
        for place in range(len(seeds))
        if chosen[place]
    ]
    counts = _count_steps(vectors, pool, (first, chosen), situations, questions)
    return SituatedSet(tuple(questions), make_situation_card(questions, settings, encoder_name, counts, rounds, inputs))


def describe_situation_encoder(settings: SituationSettings) -> str:
    """Return the card's entry for the encoder."""
    encoder = load_centred_encoder(settings.encoder)
    return f"{Path(encoder.name).name} {encoder.digest[:12]}"


def make_text_encoder(settings: SituationSettings) -> Encode:
    """Return a function that encodes texts; a text longer than the encoder's window loses its end."""
    encoder = load_centred_encoder(settings.encoder)

    def encode(texts: Sequence[str]) -> Floats:
        return encoder.encode(texts).astype(np.float64) if texts else np.zeros((0, encoder.dimensions))

    return encode


def _open_seeds(sources: Sequence[Seed | str | Path] | str | Path) -> tuple[list[Seed], list[Mapping[str, Any]]]:
    """Return the seeds, reading the named files, and the card's entries for the files."""
    sources = [sources] if isinstance(sources, str | Path) else list(sources)
    names = [str(source) for source in sources if not isinstance(source, Seed)]
    if "-" in names:
        raise InputError("a set cannot be built from standard input, which can be read only once; name a file")
    file_seeds = read_seeds(*names)
    return [*(source for source in sources if isinstance(source, Seed)), *file_seeds], [
        BuildInput(name).facts("seeds") for name in names
    ]


def _check_seeds(seeds: Sequence[Seed]) -> None:
    if len(seeds) < 2:
        raise InputError(
            f"there {'is only one seed' if seeds else 'are no seeds'}; distractors are replies of other seeds, so use "
            "two or more (a useful set needs dozens)"
        )
    ids = [seed.id for seed in seeds]
    if len(set(ids)) < len(ids):
        raise InputError(f"two seeds have the id {next(one for one in ids if ids.count(one) > 1)!r}; give each its own")
    for seed in seeds:
        if not all(text.strip() for text in (seed.request, seed.goal, seed.reply)):
            raise InputError(f"seed {seed.id}: its request, goal or reply is empty; fill it in or remove the seed")
        for statement in seed.statements:
            check_statement_category(statement.category, f"seed {seed.id}")


def _count_steps(
    vectors: SeedVectors,
    pool: StatementPool,
    chosen: tuple[Distractors, Distractors],
    situations: Sequence[ChosenStatements],
    questions: Sequence[Question],
) -> dict[str, int]:
    """Return the counts of each step; ``chosen`` are the distractors after Algorithm 1 and after Algorithm 2."""
    first, last = chosen
    choices = [choice for choice, distractors in zip(situations, last, strict=True) if distractors]
    return {
        "seeds": len(vectors.seeds),
        "seeds without a distractor, left out": sum(not distractors for distractors in last),
        "questions": len(questions),
        "questions with fewer candidates": sum(0 < len(p) < vectors.settings.candidates - 1 for p in last),
        "questions with fewer statements": sum(len(q.situation) < vectors.settings.statements for q in questions),
        "questions without relevant statements": sum(not choice.relevant for choice in choices),
        "distractors": sum(map(len, last)),
        "distractors that Algorithm 2 changed": sum(
            len(set(now) - set(before)) for before, now in zip(first, last, strict=True)
        ),
        "different statements": len(pool.statements),
        "statements that keywords rule out": int(pool.contradictions.discarded.sum()),
        "relevant statements": sum(len(choice.relevant) for choice in choices),
        "statements added for distractors": sum(len(choice.near) for choice in choices),
        "statements added from all seeds": sum(len(choice.filled) for choice in choices),
    }
