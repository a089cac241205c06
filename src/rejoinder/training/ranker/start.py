"""What the training of a ranker starts from and writes: the embedded networks, or any encoder of transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError
from rejoinder.models.aptness import card as aptness_card
from rejoinder.models.aptness.card import SpecialTokens
from rejoinder.models.aptness.network import float_networks
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.encoder.tokenization import TextTokenizer, read_tokenizer
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import EMBEDDED, RankerCard
from rejoinder.models.ranker.rows import RankerLimits
from rejoinder.models.ranker.statement_choice import WordTable
from rejoinder.training.ranker.steps import freeze_words
from rejoinder.training.recipes import RankerRecipe

if TYPE_CHECKING:
    from rejoinder.training.ranker.chooser import ReadingPlan


@dataclass(frozen=True)
class RankerStart:
    """The reader to be trained, the trunk that choosers start from, and how texts become ids."""

    reader: Any
    trunk: Any
    marks: SpecialTokens
    words: WordTable
    tokenizer: TextTokenizer
    limits: RankerLimits

    @property
    def encode(self) -> Callable[[Sequence[str]], list[list[int]]]:
        """A function that returns the ids of texts."""
        return self.tokenizer.pieces


def open_ranker_start(recipe: RankerRecipe) -> RankerStart:
    """Return what a recipe starts from."""
    shipped = require_model("aptness")
    card = aptness_card.read_aptness_card(shipped)
    words = WordTable(shipped / aptness_card.EMBEDDINGS, card.dimensions)
    if recipe.encoder == EMBEDDED:
        bi, cross = float_networks(shipped)
        freeze_words(cross)
        tokenizer = read_tokenizer(shipped / cards.TOKENIZER, recipe.limits.row_tokens)
        return RankerStart(cross, bi.trunk, card.marks, words, tokenizer, recipe.limits)
    if recipe.kind != "cross":
        raise InputError(
            "a situated ranker starts from the embedded networks; leave out the encoder, or choose the kind cross"
        )
    from rejoinder.models.ranker.transformers import find_special_tokens, fit_limits, open_hub_reader

    reader, serialized = open_hub_reader(recipe.encoder)
    limits = fit_limits(reader, recipe.limits)
    return RankerStart(
        reader, None, find_special_tokens(serialized), words, TextTokenizer(serialized, limits.row_tokens), limits
    )


def write_trained_ranker(
    start: RankerStart, reading: ReadingPlan, recipe: RankerRecipe, about: dict[str, Any], target: Path
) -> None:
    """Write the trained ranker."""
    if recipe.encoder == EMBEDDED:
        from rejoinder.models.ranker.export import export_ranker

        export_ranker(
            start.reader, reading.chooser, reading.weights, recipe.given, recipe.choice, recipe.limits, about, target
        )
        return
    from rejoinder.models.ranker.transformers import save_hub_ranker

    card = RankerCard("cross", recipe.encoder, recipe.given, {}, start.marks, limits=start.limits, about=about)
    save_hub_ranker(start.reader, start.tokenizer.serialized, card, target)
