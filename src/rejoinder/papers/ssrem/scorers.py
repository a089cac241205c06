"""The scorers that the SSREM reproduction compares: trained here over word averages and MiniLM, and the package's own.

Trained scorers are stored in ``<cache>/scorers`` under a digest of recipe, V, g and dialogues, so that a second run
trains nothing; interrupted training continues where it stopped.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import RejoinderError
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import parse
from rejoinder.models.speaker.model import CARD_FILE, FORMAT, open_scorer
from rejoinder.models.speaker.network import Kind
from rejoinder.models.speaker.vectors import open_turn_encoder
from rejoinder.paths import cache_home
from rejoinder.training.speaker.trainer import make_scorer_recipe, train_scorer
from rejoinder.types import Dialogue

KIND_LABELS: dict[Kind, str] = {"ruber": "RUBER", "rsrem": "RSREM", "ssrem": "SSREM"}
KINDS: tuple[Kind, ...] = tuple(KIND_LABELS)
CORPORA = {"cornell": "Cornell", "friends": "Friends"}
BOTH = tuple(CORPORA)


@dataclass(frozen=True)
class TurnReading:
    """One way to read utterances, V. ``shipped`` scorers come from the package instead of a training."""

    label: str
    encoder: str
    shipped: bool = False


GLOVE = TurnReading("GloVe", "glove-6b-50d")
MINILM = TurnReading("MiniLM", "minilm")
SHIPPED = TurnReading("shipped †", "aptness", shipped=True)
READINGS = (GLOVE, MINILM, SHIPPED)


@dataclass(frozen=True)
class ComparedScorer:
    """One scorer: what it is, how it reads, what it was trained on (of the shipped ones, their card says that)."""

    kind: Kind
    reading: TurnReading
    on: tuple[str, ...] = BOTH
    copies: bool = False

    @property
    def row(self) -> str:
        """Its name in a table."""
        return f"{KIND_LABELS[self.kind]}, {self.reading.label}"

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
    def whole(self) -> str:
        """The spec of the metric with g."""
        return self._spec("", reference=self.scorer.reference) if self.folder else self.scorer.kind

    @property
    def alone(self) -> str:
        """The spec of f alone."""
        return self._spec("_f") if self.folder else f"{self.scorer.kind}_f"

    def _spec(self, ending: str, **more: str) -> str:
        parameters = {"folder": str(self.folder), **more}
        return f"{self.scorer.kind}{ending}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"


def list_scorers(readings: Sequence[TurnReading]) -> Iterator[ComparedScorer]:
    """Every scorer that is compared: on both corpora, on either of them, and with copies among the negatives."""
    for reading in readings:
        for kind in KINDS:
            yield ComparedScorer(kind, reading)
            if not reading.shipped:
                yield from (ComparedScorer(kind, reading, (corpus,)) for corpus in BOTH)
                yield ComparedScorer(kind, reading, copies=True)


def split_available(readings: Sequence[TurnReading]) -> tuple[list[TurnReading], list[str]]:
    """Return the readings that are available here, and a sentence on each that is not."""
    available, absent = [], []
    for reading in readings:
        try:
            open_turn_encoder(reading.encoder)
            if reading.shipped:
                for kind in KINDS:
                    open_scorer(kind)
            available.append(reading)
        except RejoinderError as error:
            absent.append(f"Not measured: scorers over {reading.label} ({error}).")
    return available, absent


def train_or_load(scorer: ComparedScorer, dialogues: Sequence[Dialogue], **chosen: Any) -> TrainedScorer:
    """Return the scorer, training it unless it is cached; ``chosen`` overrides parts of its recipe."""
    if scorer.reading.shipped:
        return TrainedScorer(scorer, None)
    recipe = make_scorer_recipe(scorer.kind, scorer.reading.encoder, copies=scorer.copies, **chosen)
    training = [dialogue for dialogue in dialogues if dialogue.corpus in scorer.on]
    features = open_turn_encoder(scorer.reading.encoder).digest
    facts = [recipe.plain(), features, scorer.reference, digest_dialogues(training), FORMAT]
    name = sha256_of_bytes(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS))[:32]
    folder = cache_home() / "scorers" / name
    if not (folder / CARD_FILE).is_file():
        report(f"training {scorer.row} on {', '.join(scorer.on)}{' with copies' if scorer.copies else ''}")
        train_scorer(
            training, folder, recipe, scorer.reading.encoder, reference=scorer.reference, resume=True, say=report
        )
    return TrainedScorer(scorer, folder)


def digest_dialogues(dialogues: Sequence[Dialogue]) -> str:
    """Return a digest of some dialogues: speakers, texts, order and split."""
    digest = hashlib.blake2b(digest_size=16)
    for d in dialogues:
        turns = [(turn.speaker, turn.text) for turn in d.turns]
        digest.update(repr((d.id, d.corpus, d.split, turns)).encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


report: Callable[[str], None] = _to_stderr
