"""What decides a trained model beside its data: one recipe per model, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rejoinder.models.generator.shape import GeneratorShape
from rejoinder.models.generator.text import GeneratorLimits


@dataclass(frozen=True)
class BiRecipe:
    """What decides the bi-encoder, beside the data, the base and the seed."""

    steps: int = 1_700
    windows: int = 512  # a step, of 6 turns each
    merged: int = 384  # pairs a step whose context is one text
    spoiled: int = 256  # replies a step that are spoiled by rule
    rate: float = 1.5e-4
    head_rate: float = 5e-4
    scale: float = 20.0
    earlier: float = 1.0  # the weight of an utterance of the context as a false reply
    later: float = 0.1  # the weight of what is said after the reply: it may fit as well
    similarity: float = 10.0  # the weight of keeping the base's similarities
    average: float = 0.999


@dataclass(frozen=True)
class CrossRecipe:
    """What decides the cross-encoder, beside the data, the start and the seed."""

    steps: int = 1_400
    places: int = 512  # a step; seven replies to each
    rate: float = 1e-4
    head_rate: float = 5e-4
    same_corpus: float = 0.5  # weights of the kinds of false replies; there are three of this one
    any_corpus: float = 0.2
    same_dialogue: float = 0.3
    spoiled: float = 0.3
    true: float = 1.5
    rank: float = 0.3  # the weight of the softmax over a place's replies, beside each reply's own loss
    average: float = 0.998


@dataclass(frozen=True)
class AptnessRecipe:
    """All that decides the networks, beside the corpora and the base."""

    seed: int = 0
    corpora: tuple[str, ...] = ()  # all of the file's when empty
    bi: BiRecipe = field(default_factory=BiRecipe)
    cross: CrossRecipe = field(default_factory=CrossRecipe)
    power: float = 0.7  # a corpus of n turns is drawn from as often as n to this power, times its preference
    preferences: Mapping[str, float] = field(
        default_factory=lambda: {"dailydialog": 2.0, "irc_ubuntu": 0.7, "mrda": 0.4, "sgd": 0.5, "swda": 0.6}
    )
    places: int = 400  # a corpus, that weights are chosen on and figures come from


def scale_recipe(
    recipe: AptnessRecipe,
    bi_steps: int | None = None,
    cross_steps: int | None = None,
    batch: float = 1.0,
    places: int | None = None,
) -> AptnessRecipe:
    """Return the recipe with other numbers of steps and of held-out places, and a share of its batch size."""
    bi, cross = recipe.bi, recipe.cross
    bi = replace(
        bi,
        steps=bi_steps or bi.steps,
        windows=_scale_count(bi.windows, batch),
        merged=_scale_count(bi.merged, batch),
        spoiled=min(_scale_count(bi.spoiled, batch), _scale_count(bi.merged, batch)),
    )
    cross = replace(cross, steps=cross_steps or cross.steps, places=_scale_count(cross.places, batch))
    return replace(recipe, bi=bi, cross=cross, places=places or recipe.places)


def _scale_count(number: int, share: float) -> int:
    return max(2, round(number * share))


@dataclass(frozen=True)
class NupRecipe:
    """All that decides the network, beside the dialogues and the base; published: a steady rate of 1e-5 for BERT."""

    seed: int = 0
    contexts: int = 3_750
    held_out: int = 300  # contexts of the split valid that the card's figure comes from
    epochs: int = 2
    batch: int = 16
    rate: float = 3e-5  # after a warm-up, and then less and less; a small encoder takes larger steps
    decay: float = 1e-5
    dropout: float = 0.2
    context_tokens: int = 25  # the last ones
    reply_tokens: int = 25  # the first ones


@dataclass(frozen=True)
class CometRecipe:
    """All that decides the addition, beside the triples and the language model."""

    seed: int = 0
    rank: int = 8
    scale: float = 2.0
    rate: float = 1e-3
    epochs: int = 3
    batch: int = 256


@dataclass(frozen=True)
class StatementRecipe:
    """All that decides the addition, beside the seeds and the language model."""

    seed: int = 0
    rank: int = 8
    scale: float = 2.0
    rate: float = 1e-3
    epochs: int = 4
    batch: int = 64
    written: int = 200  # held-out requests and categories that statements are written for, to see how many are right


@dataclass(frozen=True)
class GeneratorRecipe:
    """All that decides a generator beside the dialogues."""

    shape: GeneratorShape = field(default_factory=GeneratorShape)
    limits: GeneratorLimits = field(default_factory=GeneratorLimits)
    seed: int = 0
    steps: int = 30_000
    tokens: int = 6_000  # a step, of contexts and replies, filling counted
    rate: float = 1e-4  # steady
    fraction: float = 1.0  # of the dialogues to train on
    check: int = 2_000  # steps between two looks at the held-out loss
    held_out: int = 4_000  # examples of it
