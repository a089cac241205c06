"""What decides a trained model besides its data: one recipe per model, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rejoinder.data.questions import WHOLE
from rejoinder.models.ranker.settings import EMBEDDED, RankerKind, RankerLimits, StatementReadingRule
from rejoinder_lab.models.generator.shape import GeneratorLimits, GeneratorShape


@dataclass(frozen=True)
class BiRecipe:
    """What decides the bi-encoder, besides the data, the base and the seed."""

    steps: int = 1_700
    windows: int = 512  # per step, of 6 turns each
    merged: int = 384  # pairs per step whose context is one text
    spoiled: int = 256  # replies per step that are corrupted by rule
    rate: float = 1.5e-4
    head_rate: float = 5e-4
    scale: float = 20.0
    earlier: float = 1.0  # the weight of an utterance of the context as a false reply
    later: float = 0.1  # the weight of turns after the reply: they may fit as well
    similarity: float = 10.0  # the weight of keeping the base's similarities
    average: float = 0.999


@dataclass(frozen=True)
class CrossRecipe:
    """What decides the cross-encoder, besides the data, the start and the seed."""

    steps: int = 1_400
    places: int = 512  # per step, with seven replies each
    rate: float = 1e-4
    head_rate: float = 5e-4
    same_corpus: float = 0.5  # weights of the kinds of false replies; there are three of this one
    any_corpus: float = 0.2
    same_dialogue: float = 0.3
    spoiled: float = 0.3
    true: float = 1.5
    rank: float = 0.3  # the weight of the softmax over a place's replies, added to each reply's own loss
    average: float = 0.998


@dataclass(frozen=True)
class AptnessRecipe:
    """All that decides the networks, besides the corpora and the base."""

    seed: int = 0
    corpora: tuple[str, ...] = ()  # when empty, all of the file
    bi: BiRecipe = field(default_factory=BiRecipe)
    cross: CrossRecipe = field(default_factory=CrossRecipe)
    power: float = 0.7  # a corpus of n turns is sampled as often as n to this power, times its preference
    preferences: Mapping[str, float] = field(
        default_factory=lambda: {"dailydialog": 2.0, "irc_ubuntu": 0.7, "mrda": 0.4, "sgd": 0.5, "swda": 0.6}
    )
    places: int = 400  # per corpus, to choose weights on and to report figures of


# What --permissive prefers: everyday talk and fiction; less of one crowd's talk about films, and of jargon.
PERMISSIVE_PREFERENCES = {
    "changelog": 0.5,
    "chitchat": 2.0,
    "crd3": 0.5,
    "se_fiction": 1.5,
    "se_fiction_us": 1.5,
    "se_plays": 1.5,
    "self_dialogue": 0.4,
    "spacelog": 0.4,
    "star": 0.6,
}


def scale_recipe(
    recipe: AptnessRecipe,
    bi_steps: int | None = None,
    cross_steps: int | None = None,
    batch: float = 1.0,
    places: int | None = None,
    rate: float = 1.0,
) -> AptnessRecipe:
    """Return the recipe with other numbers of steps and of held-out places; batch and rate are shares of its own."""
    bi, cross = recipe.bi, recipe.cross
    bi = replace(
        bi,
        steps=bi_steps or bi.steps,
        windows=_scale_count(bi.windows, batch),
        merged=_scale_count(bi.merged, batch),
        spoiled=min(_scale_count(bi.spoiled, batch), _scale_count(bi.merged, batch)),
        rate=bi.rate * rate,
    )
    cross = replace(
        cross,
        steps=cross_steps or cross.steps,
        places=_scale_count(cross.places, batch),
        rate=cross.rate * rate,
    )
    return replace(recipe, bi=bi, cross=cross, places=places or recipe.places)


def _scale_count(number: int, share: float) -> int:
    return max(2, round(number * share))


@dataclass(frozen=True)
class NupRecipe:
    """All that decides the network, besides the dialogues and the base; published: a constant rate of 1e-5 for BERT."""

    seed: int = 0
    contexts: int = 3_750
    held_out: int = 300  # contexts of the split valid for the figure in the card
    epochs: int = 2
    batch: int = 16
    rate: float = 3e-5  # after a warm-up, then decreasing; a small encoder takes larger steps
    decay: float = 1e-5
    dropout: float = 0.2
    context_tokens: int = 25  # the last ones
    reply_tokens: int = 25  # the first ones


@dataclass(frozen=True)
class HeadRecipe:
    """All that decides dense layers over frozen vectors (bert_ruber), besides the dialogues and the encoder."""

    seed: int = 0
    dialogues: int = 10_000  # at most, the first ones of the split train
    held_out: int = 400  # at most, the first ones of the split valid, for stopping and for the figure in the card
    hidden: tuple[int, ...] = (96, 64)
    epochs: int = 20
    batch: int = 256
    rate: float = 1e-3
    decay: float = 1e-2  # of the weights, with each step times the rate
    patience: int = 3  # epochs without a better held-out loss


@dataclass(frozen=True)
class UslHRecipe(HeadRecipe):
    """The same for usl_h, which also encodes a damaged copy of each turn."""

    dialogues: int = 4_000
    held_out: int = 200


@dataclass(frozen=True)
class AdemRecipe:
    """All that decides ADEM's two matrices, besides the rated replies and the encoder."""

    dimensions: int = 30  # of vectors, after a principal component analysis
    penalties: tuple[float, ...] = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)  # of which held-out replies choose one
    aspect: str | None = None  # which ratings; None: the only aspect that there is


@dataclass(frozen=True)
class DynaEvalRecipe:
    """All that decides DynaEval's graph network, besides the dialogues and the encoder."""

    seed: int = 0
    dialogues: int = 10_000  # at most, the first ones of the split train
    held_out: int = 400  # at most, the first ones of the split valid, for the choice of the epoch and for the card
    held_out_copies: int = 3  # damaged copies of each held-out dialogue
    turns: int = 10  # at most, of the stretch of a dialogue that is scored
    width: int = 128
    bases: int = 6
    hidden: int = 128
    epochs: int = 20
    batch: int = 64
    rate: float = 1e-3
    margin: float = 1.0


@dataclass(frozen=True)
class GradeRecipe:
    """All that decides GRADE's network, besides the dialogues, the knowledge and the encoder."""

    seed: int = 0
    dialogues: int = 10_000  # at most, the first ones of the split train
    held_out: int = 400  # at most, the first ones of the split valid, for the choice of the epoch and for the card
    keywords: int = 2_000
    neighbours: int = 8  # of a keyword, at most
    topic: int = 32
    utterance: int = 96
    hidden: int = 48
    epochs: int = 8
    batch: int = 256
    rate: float = 2e-3
    margin: float = 0.3


@dataclass(frozen=True)
class UsrRecipe:
    """All that decides USR's masked language model, besides the dialogues, the encoder and ratings."""

    seed: int = 0
    rank: int = 32  # of the additions to the encoder's matrices
    scale: float = 2.0
    turns: int = 4  # at most, of a context
    context_tokens: int = 48
    reply_tokens: int = 48
    share: float = 0.15  # of words that are masked
    steps: int = 4_000
    batch: int = 256
    rate: float = 1e-3
    held_out: int = 2_000  # replies of the split valid, for the figures in the card
    bounded: int = 400  # replies of the split valid, for the bounds of fluency
    aspect: str | None = None  # of the ratings that decide how much it counts; None: the only aspect that there is


@dataclass(frozen=True)
class CometRecipe:
    """All that decides the LoRA, besides the triples and the language model."""

    seed: int = 0
    rank: int = 8
    scale: float = 2.0
    rate: float = 1e-3
    epochs: int = 3
    batch: int = 256


@dataclass(frozen=True)
class StatementRecipe:
    """All that decides the LoRA, besides the seeds and the language model."""

    seed: int = 0
    rank: int = 8
    scale: float = 2.0
    rate: float = 1e-3
    epochs: int = 4
    batch: int = 64
    written: int = 200  # held-out requests and categories to write statements for, to measure how many are right


@dataclass(frozen=True)
class GeneratorRecipe:
    """All that decides a generator, besides the dialogues."""

    shape: GeneratorShape = field(default_factory=GeneratorShape)
    limits: GeneratorLimits = field(default_factory=GeneratorLimits)
    seed: int = 0
    steps: int = 30_000
    tokens: int = 6_000  # per step, of contexts and replies, with padding
    rate: float = 1e-4  # steady
    fraction: float = 1.0  # of the dialogues to train on
    check: int = 2_000  # steps between two measurements of the held-out loss
    held_out: int = 4_000  # examples of it


_KIND = "situated reads the few statements that matter, cross reads every statement."
_ENCODER = "The network that reads candidates: the embedded one, or hf:NAME (such as hf:mpnet)."
_LAYERS = "Read with the first N layers of the embedded network only: a smaller, faster ranker."
_NEGATIVES = "Replies to other requests per question, as bad candidates."
_GOAL = "The share of questions that ask by the goal instead of the request."


@dataclass(frozen=True)
class RankerRecipe:
    """SUGAR's settings (section 4.2), with a rate that suits small encoders.

    ``rejoinder train ranker`` takes options from the fields with a help text.
    """

    kind: RankerKind = field(default="situated", metadata={"help": _KIND})
    input: str = WHOLE  # the input of a plain cross-encoder; a situated one reads several
    encoder: str = field(default=EMBEDDED, metadata={"help": _ENCODER, "metavar": "NAME"})
    seed: int = 0
    # The fourth to the seventh epoch are best on held-out questions.
    epochs: int = field(default=8, metadata={"help": "Passes over the questions.", "least": 1})
    batch: int = field(default=32, metadata={"help": "Questions per step.", "least": 1})
    rate: float = 1e-4
    head_rate: float = 5e-4
    margin: float = field(default=1.0, metadata={"help": "How far a good candidate is to be ahead.", "above": 0})
    decay: float = 0.05
    norm: float = 5.0  # the largest norm of the gradient
    warm_up: float = 0.05
    own: bool = True  # leave out candidates that were written for questions outside the training split
    distractors: bool = True  # a situated ranker also reads situations with more distractors than they have
    negatives: int = field(default=2, metadata={"help": _NEGATIVES, "least": 0})  # new ones in each epoch
    goal: float = field(default=0.0, metadata={"help": _GOAL, "least": 0, "most": 1})
    mined: int = 0  # steps on pairs mined from common sense, before everything else
    mined_rate: float = 5e-5
    chooser_epochs: int = 4
    chooser_rate: float = 1e-4
    chooser_layers: int = 3
    inner: int = 2  # folds: statements of a training question are chosen by a chooser that has not seen it
    choice: StatementReadingRule = field(default_factory=StatementReadingRule)
    limits: RankerLimits = field(default_factory=RankerLimits)
    layers: int | None = field(default=None, metadata={"help": _LAYERS, "metavar": "N", "least": 1})
