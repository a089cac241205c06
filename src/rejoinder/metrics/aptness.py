"""Aptness: how well a reply fits its context, without references, by the networks shipped with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rejoinder.errors import InputError, SpecError
from rejoinder.metric import Metric
from rejoinder.metrics._context import split_pairs
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.weight_sets import WeightSet, check_weights
from rejoinder.spec import check_choice
from rejoinder.types import Pair

if TYPE_CHECKING:
    from rejoinder.models.large.model import LargeModel

Model: TypeAlias = Literal["both", "bi", "cross", "large"]


@dataclass(frozen=True)
class Aptness(Metric):
    """The probability that a reply is the true one rather than another from the same kind of conversation.

    ``model='bi'`` encodes each turn on its own (fast), ``'cross'`` reads context and reply together (more accurate),
    ``'both'`` combines them. ``folder`` is a folder with networks of your own, ``weights`` a set of shipped ones:
    ``'permissive'`` or ``'research'`` (by default that of the package). ``'large'`` is a language model with an
    adapter, which is installed or in ``folder``; it needs torch. NaN without a context.
    """

    model: Model = "both"
    folder: str | None = None
    weights: WeightSet | None = None

    needs = frozenset({"context"})
    languages = "English"
    citation = "this package; docs/aptness.md"
    decimals = 4
    default_for = ("context", 1)
    thread_safe = True

    def __post_init__(self) -> None:
        _check_model(self.model, self.weights)
        check_weights("aptness", self.weights, self.folder)
        if self.model == "large":
            for name, value in _LARGE.items():
                object.__setattr__(self, name, value)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the aptness of each response to its item's context."""
        contexts, replies = split_pairs(pairs)
        if self.model == "large":
            return [float(value) for value in _open_large(self.folder).probabilities(contexts, replies)]
        probabilities = self._open().probabilities(contexts, replies, self.model)
        return [float(value) for value in probabilities]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more tokens in the context or the reply than are read; earlier turns do not count.

        For ``model='large'``, which reads as many whole turns as it has room for, they do.
        """
        contexts, replies = split_pairs(pairs)
        if self.model == "large":
            return _open_large(self.folder).cut(contexts, replies)
        return self._open().cut(contexts, replies, self.model)

    def details(self) -> dict[str, str]:
        """Return the digest of the networks and their calibration; of the large model, also its base and precision."""
        if self.model == "large":
            large = _open_large(self.folder)
            base = f"{large.card.base.name} {large.card.base.sha256[:12]}"
            return {"weights": large.digest[:12], "base": base, "precision": large.precision}
        return {"weights": self._open().digest[:12]}

    def _open(self) -> AptnessModel:
        return open_aptness(self.folder, self.weights)


# What the large model has instead of the attributes above. Its scores are the same to three decimals in any batch.
_LARGE = {"decimals": 3, "large": True, "one_process": True, "thread_safe": False}


def _open_large(folder: str | None = None) -> LargeModel:
    from rejoinder.models.large.model import open_large

    return open_large(folder)


def _check_model(model: str, weights: str | None) -> None:
    """Raise where a model does not exist, or where a set of weights is named that has none for it."""
    check_choice("aptness", "model", model, Model)
    if model == "large" and weights is not None:
        raise SpecError("aptness: model='large' has weights of its own; leave out weights")


def aptness(
    contexts: Sequence[Sequence[str] | str],
    responses: Sequence[str],
    model: Model = "both",
    weights: WeightSet | None = None,
) -> list[float]:
    """Return how well each response fits its context, from 0 to 1; NaN if the context or the response is blank.

    - ``contexts``: one per response: a list of turns, oldest first, or a single turn.
    - ``responses``: the replies.
    - ``model``: ``bi``, ``cross`` or ``both``, or ``large`` if its adapter is installed.
    - ``weights``: a set of weights, ``permissive`` or ``research``; by default that of the package.

    >>> import rejoinder
    >>> apt, odd = rejoinder.aptness([["How are you?"]] * 2, ["Fine, and you?", "Bananas are yellow."])
    >>> apt > odd
    True
    """
    _check_model(model, weights)
    check_weights("aptness", weights, None)
    if isinstance(contexts, str) or isinstance(responses, str):
        raise InputError("contexts and responses must be lists; write e.g. aptness([['How are you?']], ['Fine.'])")
    if len(contexts) != len(responses):
        raise InputError(
            f"contexts has {len(contexts)} entries but responses has {len(responses)}; pass one context per response"
        )
    turn_lists = [[context] if isinstance(context, str) else list(context) for context in contexts]
    for i, texts in enumerate(turn_lists):
        if not all(isinstance(text, str) for text in [*texts, responses[i]]):
            raise InputError(f"contexts[{i}] must be a string or a list of strings, and responses[{i}] a string")
    if model == "large":
        return [round(float(value), 3) for value in _open_large().probabilities(turn_lists, responses)]
    probabilities = open_aptness(weights=weights).probabilities(turn_lists, responses, model)
    return [round(float(value), 4) for value in probabilities]
