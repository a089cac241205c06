"""What the training of a ranker starts from and writes: the embedded networks, or any encoder of transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError
from rejoinder.models import aptness_card
from rejoinder.models.aptness.network import float_networks
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import RankerCard
from rejoinder.models.ranker.settings import EMBEDDED, RankerLimits
from rejoinder.models.ranker.statement_choice import WordTable
from rejoinder.models.tokenization import TextTokenizer, read_tokenizer
from rejoinder_lab.training.aptness.layers import keep_layers
from rejoinder_lab.training.ranker.steps import freeze_words
from rejoinder_lab.training.recipes import RankerRecipe

if TYPE_CHECKING:
    from rejoinder_lab.training.ranker.chooser import ReadingPlan


@dataclass(frozen=True)
class RankerStart:
    """The reader to be trained, the trunk that choosers start from, and how texts become ids.

    ``chooser_tokenizer`` and ``chooser_marks`` are the embedded ones, also where the reader is another network.
    """

    reader: Any
    trunk: Any
    marks: SpecialTokens
    words: WordTable
    tokenizer: TextTokenizer
    limits: RankerLimits
    chooser_tokenizer: TextTokenizer
    chooser_marks: SpecialTokens

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
        if recipe.layers is not None:
            cross.trunk = _keep_first_layers(cross.trunk, recipe.layers)
        freeze_words(cross)
        tokenizer = read_tokenizer(shipped / cards.TOKENIZER, recipe.limits.row_tokens)
        return RankerStart(cross, bi.trunk, card.marks, words, tokenizer, recipe.limits, tokenizer, card.marks)
    if recipe.layers is not None:
        raise InputError(f"only the embedded encoder can be read with fewer layers, not {recipe.encoder}")
    from rejoinder.models.ranker.transformers import find_special_tokens, fit_limits, open_hub_reader

    reader, serialized = open_hub_reader(recipe.encoder)
    limits = fit_limits(reader, recipe.limits)
    marks, tokenizer = find_special_tokens(serialized), TextTokenizer(serialized, limits.row_tokens)
    if recipe.kind == "cross":
        return RankerStart(reader, None, marks, words, tokenizer, limits, tokenizer, marks)
    bi, _ = float_networks(shipped)
    embedded = read_tokenizer(shipped / cards.TOKENIZER, limits.row_tokens)
    return RankerStart(reader, bi.trunk, marks, words, tokenizer, limits, embedded, card.marks)


def _keep_first_layers(trunk: Any, layers: int) -> Any:
    available = int(trunk.config.num_hidden_layers)
    if not 1 <= layers <= available:
        raise InputError(f"the embedded encoder has {available} layers; choose 1 to {available} of them, not {layers}")
    return keep_layers(trunk, range(layers))


def write_trained_ranker(
    start: RankerStart, reading: ReadingPlan, recipe: RankerRecipe, about: dict[str, Any], target: Path
) -> None:
    """Write the trained ranker."""
    if recipe.encoder == EMBEDDED:
        from rejoinder.models.ranker.export import export_ranker

        export_ranker(
            start.reader, reading.chooser, reading.weights, recipe.input, recipe.choice, recipe.limits, about, target
        )
        return
    from rejoinder.models.ranker.export import export_chooser
    from rejoinder.models.ranker.transformers import save_hub_ranker

    card = RankerCard(recipe.kind, recipe.encoder, recipe.input, {}, start.marks, limits=start.limits, about=about)
    if reading.chooser is not None and reading.weights is not None:
        files, words = export_chooser(reading.chooser, reading.weights, target)
        card = replace(card, files=files, words=words, choice=recipe.choice)
    save_hub_ranker(start.reader, start.tokenizer.serialized, card, target)
