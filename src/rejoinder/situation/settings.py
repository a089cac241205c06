"""The settings of a situated set; the defaults are those of SUGAR's Appendix B."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.errors import InputError


@dataclass(frozen=True)
class SituationSettings:
    """The parameters of Algorithms 1 and 2 and of Appendix B.2."""

    candidates: int = 3  # m, including the reference
    statements: int = 12  # l
    overlap: float = 0.75  # of content words: from this value, two texts say nearly the same
    similarity: float = 0.5  # of embeddings: from this value, a reply may fit both requests
    rounds: int = 3  # J, 0 for Algorithm 1 alone
    folds: int = 10  # K
    margin: float = 0.05  # gamma
    penalty: float = 1.0  # on half the squared weights of the regression
    encoder: str = "aptness"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("candidates", 2), ("statements", 0), ("rounds", 0), ("folds", 2)):
            if getattr(self, name) < least:
                raise InputError(f"{name} must be at least {least}, not {getattr(self, name)}")
        for name in ("overlap", "similarity"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"{name} must be above 0 and at most 1, not {getattr(self, name)}")
        if self.penalty <= 0 or self.margin < 0:
            raise InputError(f"penalty must be above 0 and margin at least 0, not {self.penalty} and {self.margin}")
