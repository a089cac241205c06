"""The scorers of the SSREM reproduction, with most settings of the authors' program and with ours.

V is word averages, MiniLM or the aptness encoder. Trained scorers are stored in ``<cache>/scorers`` under a digest of
recipe, V, g and dialogues, so that a second run trains nothing; interrupted training continues where it stopped.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.files import sha256_of_bytes
from rejoinder.metric import parse
from rejoinder.models.speaker.model import CARD_FILE, FORMAT
from rejoinder.models.speaker.network import Kind
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.paths import cache_home
from rejoinder.types import Dialogue
from rejoinder_lab.training.speaker.trainer import ScorerRecipe, make_scorer_recipe, train_scorer

KIND_LABELS: dict[Kind, str] = {"ruber": "RUBER", "rsrem": "RSREM", "ssrem": "SSREM"}
KINDS: tuple[Kind, ...] = tuple(KIND_LABELS)
CORPORA = {"cornell": "Cornell", "friends": "Friends"}
BOTH = tuple(CORPORA)
ONE = ("friends",)
_SHORT_TRAINING = 60  # epochs of the paper's recipe over sentence encoders, whose 384 dimensions take longer
_BOUNDS_VERSION = 2  # of g's bounds: 1 compared the true reply with itself


@dataclass(frozen=True)
class TurnReading:
    """One way to read utterances, V, and to train on them. ``shipped`` scorers come from the package."""

    label: str
    encoder: str
    on: tuple[str, ...] = BOTH  # the corpora to train on
    paper: bool = False  # with most settings of the authors' program
    shipped: bool = False

    @property
    def is_evidence(self) -> bool:
        """Whether V was trained on none of the corpora."""
        return self.encoder != "aptness"


GLOVE = TurnReading("GloVe, paper", "glove-6b-50d", paper=True)
MINILM = TurnReading("MiniLM, paper", "minilm", ONE, paper=True)
APTNESS = TurnReading("aptness †, paper", "aptness", ONE, paper=True)
OWN_GLOVE = TurnReading("GloVe, ours", "glove-6b-50d")
OWN_MINILM = TurnReading("MiniLM, ours", "minilm", ONE)
OWN_APTNESS = TurnReading("aptness †, ours", "aptness", ONE)
SHIPPED = TurnReading("shipped †", "aptness", shipped=True)
READINGS = (GLOVE, MINILM, APTNESS, OWN_GLOVE, OWN_MINILM, OWN_APTNESS, SHIPPED)
ENCODERS = tuple(dict.fromkeys(reading.encoder for reading in READINGS))
SEEDS = (0, 1)  # of the paper's recipe over word averages, which begins with random numbers


@dataclass(frozen=True)
class ComparedScorer:
    """One scorer: what it is, how it reads, what it was trained on (of the shipped ones, their card says that)."""

    kind: Kind
    reading: TurnReading
    on: tuple[str, ...] = ()  # empty: those of the reading
    copies: bool = False
    ranking: bool = False
    seed: int = 0

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The corpora that it is trained on."""
        return self.on or self.reading.on

    @property
    def label(self) -> str:
        """Its kind in a table."""
        return KIND_LABELS[self.kind] + (", ranking loss" if self.ranking else "")

    @property
    def row(self) -> str:
        """Its name in a table."""
        return f"{self.label}, {self.reading.label}"

    @property
    def name(self) -> str:
        """Its name in a file: all that sets it apart."""
        parts = [self.row, "+".join(self.trained_on), f"seed {self.seed}", *(["copies"] if self.copies else [])]
        return "; ".join(parts)

    @property
    def reference(self) -> str:
        """The spec of g: over the same vectors as f, so that neither part has read more than the other."""
        name = "ruber_g" if self.kind == "ruber" else "sentence_mover"
        return str(parse(f"{name}(encoder={self.reading.encoder!r})"))


@dataclass(frozen=True)
class TrainedScorer:
    """A scorer with its folder; None for the package's own."""

    scorer: ComparedScorer
    folder: Path | None

    @property
    def alone(self) -> str:
        """The spec of f alone."""
        return f"{self.scorer.kind}_f(folder={str(self.folder)!r})" if self.folder else f"{self.scorer.kind}_f"


def list_compared(reading: TurnReading) -> list[ComparedScorer]:
    """The scorers of a reading that every table has: RUBER, RSREM, SSREM, and SSREM with the ranking loss."""
    usual = [ComparedScorer(kind, reading) for kind in KINDS]
    return usual if reading.shipped else [*usual, ComparedScorer("ssrem", reading, ranking=True)]


def list_scorers(readings: Sequence[TurnReading] = READINGS) -> Iterator[ComparedScorer]:
    """Every scorer: the compared ones; over word averages also other seeds, single corpora, and copies as negatives."""
    for reading in readings:
        yield from list_compared(reading)
    if GLOVE in readings:
        yield from (ComparedScorer(kind, GLOVE, seed=seed) for seed in SEEDS[1:] for kind in KINDS)
        yield from (ComparedScorer(kind, GLOVE, on=(corpus,)) for corpus in BOTH for kind in KINDS)
        yield ComparedScorer("ssrem", GLOVE, copies=True)
    if OWN_GLOVE in readings:
        yield ComparedScorer("ssrem", OWN_GLOVE, copies=True)


@dataclass(frozen=True)
class ScorerTraining:
    """What a scorer is trained from, and the folder that it is stored in."""

    recipe: ScorerRecipe
    dialogues: Sequence[Dialogue]
    folder: Path

    @property
    def is_done(self) -> bool:
        """Whether the scorer is in the cache."""
        return (self.folder / CARD_FILE).is_file()


def plan_training(scorer: ComparedScorer, dialogues: Sequence[Dialogue], **chosen: Any) -> ScorerTraining:
    """Return how a scorer is trained; ``chosen`` overrides parts of its recipe."""
    choices: dict[str, Any] = {"copies": scorer.copies, "seed": scorer.seed}
    choices |= {"loss": "ranking"} if scorer.ranking else {}
    choices |= {"epochs": _SHORT_TRAINING} if scorer.reading.paper and scorer.reading.encoder != GLOVE.encoder else {}
    recipe = make_scorer_recipe(scorer.kind, scorer.reading.encoder, scorer.reading.paper, **{**choices, **chosen})
    training = [dialogue for dialogue in dialogues if dialogue.corpus in scorer.trained_on]
    features = open_turn_encoder(scorer.reading.encoder).digest
    facts = [recipe.plain(), features, scorer.reference, digest_dialogues(training), FORMAT, _BOUNDS_VERSION]
    name = sha256_of_bytes(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS))[:32]
    return ScorerTraining(recipe, training, cache_home() / "scorers" / name)


def load_trained(scorer: ComparedScorer, dialogues: Sequence[Dialogue]) -> TrainedScorer | None:
    """Return a scorer that is in the cache or the package; None if it is in neither."""
    if scorer.reading.shipped:
        return TrainedScorer(scorer, None)
    plan = plan_training(scorer, dialogues)
    return TrainedScorer(scorer, plan.folder) if plan.is_done else None


def train_or_load(scorer: ComparedScorer, dialogues: Sequence[Dialogue], **chosen: Any) -> TrainedScorer:
    """Return the scorer, training it unless it is cached; ``chosen`` overrides parts of its recipe."""
    if scorer.reading.shipped:
        return TrainedScorer(scorer, None)
    plan = plan_training(scorer, dialogues, **chosen)
    if not plan.is_done:
        log(f"training {scorer.name}")
        encoder, reference = scorer.reading.encoder, scorer.reference
        train_scorer(plan.dialogues, plan.folder, plan.recipe, encoder, reference=reference, resume=True, log=log)
    return TrainedScorer(scorer, plan.folder)


def digest_dialogues(dialogues: Sequence[Dialogue]) -> str:
    """Return a digest of some dialogues: speakers, texts, order and split."""
    digest = hashlib.blake2b(digest_size=16)
    for d in dialogues:
        turns = [(turn.speaker, turn.text) for turn in d.turns]
        digest.update(repr((d.id, d.corpus, d.split, turns)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


log: Callable[[str], None] = _to_stderr
