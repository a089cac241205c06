"""Aptness: how well a reply fits its context, without references, by the networks shipped with the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.errors import InputError
from rejoinder.metric import Metric
from rejoinder.metrics._context import split_pairs
from rejoinder.models.aptness.calibration import ModelName
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.weight_sets import WeightSet, check_weights
from rejoinder.spec import check_choice
from rejoinder.types import Pair


@dataclass(frozen=True)
class Aptness(Metric):
    """The probability that a reply is the true one rather than another from the same kind of conversation.

    ``model='bi'`` encodes each turn on its own (fast), ``'cross'`` reads context and reply together (more accurate),
    ``'both'`` combines them. ``folder`` is a folder with networks of your own, ``weights`` a set of shipped ones:
    ``'research'`` or ``'permissive'`` (by default that of the package). NaN without a context.
    """

    model: ModelName = "both"
    folder: str | None = None
    weights: WeightSet | None = None

    needs = frozenset({"context"})
    languages = "English"
    citation = "this package; docs/aptness.md"
    decimals = 4
    default_for = ("context", 1)
    thread_safe = True

    def __post_init__(self) -> None:
        check_choice("aptness", "model", self.model, ModelName)
        check_weights("aptness", self.weights, self.folder)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the aptness of each response to its item's context."""
        probabilities = self._open().probabilities(*split_pairs(pairs), self.model)
        return [float(value) for value in probabilities]

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more tokens in the context or the reply than are read; earlier turns do not count."""
        return self._open().cut(*split_pairs(pairs), self.model)

    def details(self) -> dict[str, str]:
        """Return the digest of the networks and their calibration."""
        return {"weights": self._open().digest[:12]}

    def _open(self) -> AptnessModel:
        return open_aptness(self.folder, self.weights)


def aptness(
    contexts: Sequence[Sequence[str] | str],
    responses: Sequence[str],
    model: ModelName = "both",
    weights: WeightSet | None = None,
) -> list[float]:
    """Return how well each response fits its context, from 0 to 1; NaN if the context or the response is blank.

    - ``contexts``: one per response: a list of turns, oldest first, or a single turn.
    - ``responses``: the replies.
    - ``model``: ``bi``, ``cross`` or ``both``.
    - ``weights``: a set of weights, ``research`` or ``permissive``; by default that of the package.

    >>> import rejoinder
    >>> apt, odd = rejoinder.aptness([["How are you?"]] * 2, ["Fine, and you?", "Bananas are yellow."])
    >>> apt > odd
    True
    """
    check_choice("aptness", "model", model, ModelName)
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
    probabilities = open_aptness(weights=weights).probabilities(turn_lists, responses, model)
    return [round(float(value), 4) for value in probabilities]
