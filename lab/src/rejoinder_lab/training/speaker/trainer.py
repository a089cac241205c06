"""The recipes of SSREM, RSREM (Bak and Oh 2020) and RUBER (Tao et al. 2018): dialogues to a folder; needs no torch.

Trains on the split ``train``, stops by ``valid``, and reports results on ``test`` in the card. No rating is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_parts
from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.models.speaker import model as cards
from rejoinder.models.speaker.model import F_BOUNDS, ContextView, ScorerCard, SpeakerScorer
from rejoinder.models.speaker.network import Array, Kind, ScorerNetwork, build_scorer_network
from rejoinder.models.speaker.vectors import TurnEncoder, open_turn_encoder
from rejoinder.types import Dialogue
from rejoinder_lab.training.licence import LICENCES, derived_licence
from rejoinder_lab.training.speaker.checkpoint import CHECKPOINT, ScorerState, load_scorer_state, save_scorer_state
from rejoinder_lab.training.speaker.evaluation import (
    compute_scorer_bounds,
    evaluate_scores,
    score_sets,
    scorer_card_figures,
)
from rejoinder_lab.training.speaker.places import (
    PlaceRows,
    VectorInputs,
    check_sets,
    mean_vector,
    remove_inputs,
    sample_copies,
    sample_negatives,
    select_complete,
    select_split_turns,
)
from rejoinder_lab.training.speaker.steps import (
    Loss,
    LossResult,
    TrainingPace,
    compute_scorer_loss,
    train_scorer_weights,
)
from rejoinder_lab.training.turn_vectors import TurnVectors, open_turn_vectors

_SHORT_VECTOR = 100  # dimensions


@dataclass(frozen=True)
class ScorerRecipe:
    """All that decides a scorer, besides the dialogues and the vectors V."""

    kind: Kind = "ssrem"
    seed: int = 0
    epochs: int = 6
    loss: Loss | None = None  # classification; for ruber margin
    copies: bool = False  # a turn of the context as one more negative
    temperature: float = 0.25  # of the classification; the paper's is 1
    views: tuple[ContextView, ...] = (ContextView(1.0, 1), ContextView(0.6, 6), ContextView(1.0, 40))
    scale: float = 3.0  # of M at its start: of the identity; in the paper's recipe of random normal numbers
    rate: float = 1e-3
    pull: float = 1.0  # of the weights back to their start, with each step times the rate
    batch: int = 512
    patience: int = 2
    clip: float = 0.0  # the largest norm of a gradient; 0: any
    paper: bool = False  # with most settings of the authors' program: see ``paper_recipe``

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"the kind of a scorer must be one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if self.loss is None:
            object.__setattr__(self, "loss", "margin" if self.kind == "ruber" else "classification")
        allowed = {"ssrem": ("classification", "ranking"), "rsrem": ("classification",), "ruber": ("margin",)}[
            self.kind
        ]
        if self.loss not in allowed:
            raise InputError(f"{self.kind} is trained with the loss {' or '.join(allowed)}, not {self.loss!r}")

    def plain(self) -> dict[str, Any]:
        """Return the recipe as it is written to a card."""
        return {**asdict(self), "views": [list(view) for view in self.views]}

    @property
    def pace(self) -> TrainingPace:
        """The settings of the training's steps."""
        return TrainingPace(
            self.epochs, self.batch, self.rate, self.pull, self.patience, self.seed, self.clip, self.paper
        )


def paper_recipe(kind: Kind, **choices: Any) -> ScorerRecipe:
    """Return a recipe with most settings of the authors' program, for all three kinds alike, with other choices.

    V is the plain mean over the context (at most 40 utterances) and over the reply. M begins as random normal numbers
    with a deviation of 1 over the root of the dimensions (theirs: 1); 200 epochs at most (theirs: 2,000).
    The negatives of a place are drawn once (equation 3). The losses of a batch are summed, over raw scores: tanh comes
    in only when a reply is scored. The rate is the same in every step. Places without a reply from each of the four
    sets are left out.
    """
    settings = {
        "temperature": 1.0, "views": (ContextView(1.0, 40),), "scale": 1.0, "rate": 1e-4, "pull": 0.0, "batch": 5_000,
        "clip": 1.0, "epochs": 200, "patience": 5, "paper": True,
    }  # fmt: skip
    return ScorerRecipe(kind, **{**settings, **choices})


def make_scorer_recipe(kind: Kind, encoder: str, paper: bool = False, **choices: Any) -> ScorerRecipe:
    """Return the recipe of a scorer for an encoder's vectors, with other choices; short vectors have a higher rate."""
    if paper:
        return paper_recipe(kind, **choices)
    defaults = {"rate": 3e-3, "pull": 0.0} if open_turn_encoder(encoder).dimensions <= _SHORT_VECTOR else {}
    return ScorerRecipe(kind, **{**defaults, **choices})


SPLITS = ("train", "valid", "test")
REFERENCES: dict[Kind, str] = {"ssrem": "sentence_mover", "rsrem": "sentence_mover", "ruber": "ruber_g"}
CORPORA = ("cornell", "friends", "irc_ubuntu", "mrda", "cmu_dog")  # the published corpora with permanent speakers
_HELD_OUT = 20_000  # places of ``valid`` for the held-out loss
_HELD_OUT_SEED = 2**40  # its negatives are never those of an epoch


@dataclass(frozen=True, eq=False)
class TrainingPlaces:
    """The places of a training, for its loop."""

    recipe: ScorerRecipe
    corpus: Corpus
    train: Numbers
    valid: Numbers
    mean: Array | None  # None: V as it comes
    inputs: VectorInputs

    @property
    def n(self) -> int:
        """The number of places to train on."""
        return len(self.train)

    def negatives(self, places: Numbers, epoch: int) -> Numbers:
        """Return the negatives of some places in an epoch; the paper's recipe has the same in every epoch."""
        if self.recipe.paper:
            return self._fixed_negatives[places]
        return self._negatives(self.train[places], (self.recipe.seed << 20) + epoch)

    def rows(self, places: Numbers, negatives: Numbers) -> PlaceRows:
        """Return some places as a network reads them."""
        return self.inputs.rows(self.train[places], negatives)

    def loss(self, scores: Array, rows: PlaceRows) -> LossResult:
        """Return the loss of a batch."""
        # A copy is the worst negative where the order of the sets counts.
        recipe = self.recipe
        loss = recipe.loss or "classification"
        result = compute_scorer_loss(loss, scores, rows.there, recipe.temperature, recipe.paper)
        return result._replace(slopes=result.slopes * len(scores)) if recipe.paper else result

    def held_out(self, network: ScorerNetwork, weights: dict[str, Array]) -> float:
        """Return the loss over ``valid``, with the same negatives each time."""
        total = 0.0
        for start in range(0, len(self.valid), self.recipe.batch):
            part = slice(start, start + self.recipe.batch)
            turns = self.valid[part]
            rows = self.inputs.rows(turns, self._held_out_negatives[part])
            total += len(turns) * self.loss(network.scores(weights, rows.contexts, rows.replies).scores, rows).loss
        return total / len(self.valid)

    @cached_property
    def _fixed_negatives(self) -> Numbers:
        return self._negatives(self.train, self.recipe.seed << 20)

    @cached_property
    def _held_out_negatives(self) -> Numbers:
        return self._negatives(self.valid, _HELD_OUT_SEED)

    def _negatives(self, turns: Numbers, seed: int) -> Numbers:
        corpus = self.corpus
        negatives = sample_negatives(corpus, self.recipe.kind, turns, seed)
        if not self.recipe.copies:
            return negatives
        most = max(view.turns for view in self.recipe.views)
        return np.concatenate([negatives, sample_copies(corpus, turns, seed, most)[:, None]], axis=1)


def train_scorer(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: ScorerRecipe,
    encoder: str = "aptness",
    corpora: Sequence[str] = (),
    reference: str | None = None,
    resume: bool = False,
    log: Callable[[str], None] = print,
) -> ScorerCard:
    """Train a scorer and write its folder; with ``resume``, continue from the folder's checkpoint where it has one."""
    utterance_vectors = open_turn_encoder(encoder)
    corpus = read_scorer_corpus(dialogues, corpora, recipe.seed)
    vectors = open_turn_vectors(corpus, utterance_vectors, log)
    if not (resume and (target / CHECKPOINT).is_file()):
        remove_inputs(target)  # of another training
    places = prepare_places(recipe, vectors, target, log)
    state = train_places(places, target, utterance_vectors, resume, log)
    weights = state.best if places.mean is None else {**state.best, cards.MEAN_NAME: places.mean}
    names = sorted({str(name) for _, name in corpus.groups if name is not None})
    about = {
        "recipe": recipe.plain(),
        "data": {name: LICENCES.get(name, "not known") for name in names},
        "places": {"train": places.n, "valid": len(places.valid)},
        "licence": derived_licence(names, utterance_vectors),
        "citation": "Tao et al. 2018" if recipe.kind == "ruber" else "Bak and Oh 2020",
        "history": state.history,
        "best_epoch": state.best_epoch + 1,
    }
    draft_card = ScorerCard(
        recipe.kind, encoder, utterance_vectors.digest, recipe.views, {F_BOUNDS: (0.0, 1.0)}, "", about
    )
    scorer = SpeakerScorer(draft_card, weights, utterance_vectors)
    log("computing the bounds of f and g over training places")
    bounds = compute_scorer_bounds(scorer, vectors, places.train, reference or REFERENCES[recipe.kind], recipe.seed)
    about["measured"] = evaluate_scorer_by_corpus(scorer, vectors)
    card = cards.write_scorer(target, replace(draft_card, bounds=bounds), weights)
    (target / CHECKPOINT).unlink(missing_ok=True)
    remove_inputs(target)
    return card


def prepare_places(
    recipe: ScorerRecipe, vectors: TurnVectors, folder: Path, log: Callable[[str], None]
) -> TrainingPlaces:
    """Return the places of the splits ``train`` and ``valid``; their vectors are kept in a folder."""
    train, valid = (select_split_turns(vectors, split, recipe.views) for split in ("train", "valid"))
    log(check_sets(vectors.corpus, recipe.kind, train))
    if recipe.paper:
        train, valid = (select_complete(vectors.corpus, turns) for turns in (train, valid))
        if not len(train):
            raise InputError("no place of the split 'train' has a reply from each speaker set; train without paper")
        log(f"{len(train):,} of them have a reply from each of the four sets; only those are trained on")
    if not len(valid):
        raise InputError(
            "no dialogue of the split 'valid' has two turns with known words; give more dialogues, or set the "
            "'split' of those to hold out"
        )
    held_out = np.sort(np.random.default_rng(recipe.seed).permutation(valid)[:_HELD_OUT])
    mean = None if recipe.paper else mean_vector(vectors, train)
    folder.mkdir(parents=True, exist_ok=True)
    inputs = VectorInputs(vectors, np.sort(np.concatenate([train, held_out])), recipe.views, mean, folder)
    return TrainingPlaces(recipe, vectors.corpus, train, held_out, mean, inputs)


def train_places(
    places: TrainingPlaces, target: Path, utterance_vectors: TurnEncoder, resume: bool, log: Callable[[str], None]
) -> ScorerState:
    """Train over places, with a checkpoint in a folder, and return the last state, which has the best weights."""
    recipe, network = places.recipe, build_scorer_network(places.recipe.kind, places.recipe.paper)
    training_digest = _training_digest(recipe, utterance_vectors, places.corpus)
    path = target / CHECKPOINT
    random = np.random.default_rng([recipe.seed, 1])
    start = network.start(utterance_vectors.dimensions, len(recipe.views), recipe.scale, random, recipe.paper)
    state = ScorerState.at_start({name: array.copy() for name, array in start.items()})
    if resume and path.is_file():
        state = load_scorer_state(path, training_digest)
        done = f"in epoch {state.epoch + 1}, after {state.begin:,} of {places.n:,} places"
        log(f"continuing {done if state.epoch < recipe.epochs else 'after the last epoch'}")
    return train_scorer_weights(
        network,
        places,
        state,
        start,
        recipe.pace,
        lambda current: save_scorer_state(path, current, training_digest),
        log,
    )


def _training_digest(recipe: ScorerRecipe, vectors: TurnEncoder, corpus: Corpus) -> str:
    """Return what identifies a training, for its checkpoint."""
    parts = [orjson.dumps(recipe.plain()).decode(), vectors.digest, corpus.digest]
    return sha256_of_parts(parts, "\n")


def read_scorer_corpus(dialogues: Iterable[Dialogue], corpora: Sequence[str] = (), seed: int = 0) -> Corpus:
    """Return the dialogues of some corpora (of all, where none is named), each with a split."""
    names = list(dict.fromkeys(corpora))
    try:
        return Corpus.of(_with_split(dialogues, names, seed))
    except InputError as error:
        if names and "no dialogues" in str(error):
            raise InputError(f"the files have no dialogues of the corpora {', '.join(names)}; name others") from None
        raise


def _with_split(dialogues: Iterable[Dialogue], corpora: Sequence[str], seed: int) -> Iterator[Dialogue]:
    for dialogue in dialogues:
        if not corpora or dialogue.corpus in corpora:
            yield dialogue if dialogue.split else replace(dialogue, split=assign_split(dialogue.id, seed))


def assign_split(name: str, seed: int = 0) -> str:
    """Return the split of a dialogue that has none: of ten, eight are for train, one for valid, one for test."""
    number = int.from_bytes(hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest(), "little")
    return ("valid", "test", *["train"] * 8)[number % 10]


def evaluate_scorer_by_corpus(scorer: SpeakerScorer, vectors: TurnVectors) -> dict[str, object]:
    """Return the figures on the split ``test`` of each corpus."""
    set_scores = score_sets(scorer, vectors, "test")
    corpus = vectors.corpus
    corpus_names = np.array([name for _, name in corpus.groups], object)[
        corpus.group[corpus.dialogue[set_scores.turns]]
    ]
    names = sorted({str(name) for name in corpus_names})
    return {
        name: scorer_card_figures(
            evaluate_scores(replace(set_scores, turns=set_scores.turns[rows], scores=set_scores.scores[rows]))
        )
        for name in names
        if (rows := corpus_names.astype(str) == name).any()
    }
