"""What decides a ranker, besides its data."""

from __future__ import annotations

from dataclasses import dataclass, field

from rejoinder.data.questions import WHOLE
from rejoinder.models.ranker.card import EMBEDDED, RankerKind, StatementChoice
from rejoinder.models.ranker.rows import RankerLimits


@dataclass(frozen=True)
class RankerRecipe:
    """SUGAR's settings (section 4.2), with a rate that suits small encoders."""

    kind: RankerKind = "situated"
    given: str = WHOLE  # the input of a plain cross-encoder; a situated one reads several
    encoder: str = EMBEDDED
    seed: int = 0
    epochs: int = 8  # the fourth to the seventh are best on held-out questions
    batch: int = 32  # questions
    rate: float = 1e-4
    head_rate: float = 5e-4
    margin: float = 1.0
    decay: float = 0.05
    norm: float = 5.0  # the largest norm of the gradient
    warm_up: float = 0.05
    own: bool = True  # leave out candidates that were written for questions outside the training split
    distractors: bool = True  # a situated ranker also reads situations with more distractors than they have
    negatives: int = 2  # replies to other requests of the training split, per question and epoch, as bad ones
    goal: float = 0.0  # share of the questions that are asked by their goal instead of the request
    mined: int = 0  # steps on pairs mined from common sense, before everything else
    mined_rate: float = 5e-5
    chooser_epochs: int = 4
    chooser_rate: float = 1e-4
    chooser_layers: int = 3
    inner: int = 2  # folds: statements of a training question are chosen by a chooser that has not seen it
    choice: StatementChoice = field(default_factory=StatementChoice)
    limits: RankerLimits = field(default_factory=RankerLimits)
