"""The settings of a situated set; the defaults are those of SUGAR's Appendix B."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from rejoinder.errors import InputError

_OVERLAP = "Two texts with this overlap of content words or more say nearly the same."
_SIMILARITY = "Two requests with this similarity of embeddings or more may share a reply."
_MARGIN = "The margin by which a distractor is easy."


@dataclass(frozen=True)
class SituationSettings:
    """The parameters of Algorithms 1 and 2 and of Appendix B.2; the command has an option for each with a help text."""

    # In the paper: m (including the reference), l, J (0 for Algorithm 1 alone), K and, for the margin, gamma.
    candidates: int = field(default=3, metadata={"help": "Candidates per question.", "least": 2})
    statements: int = field(default=12, metadata={"help": "Statements per question.", "least": 0})
    overlap: float = field(default=0.75, metadata={"help": _OVERLAP, "above": 0, "most": 1})
    similarity: float = field(default=0.5, metadata={"help": _SIMILARITY, "above": 0, "most": 1})
    rounds: int = field(default=3, metadata={"help": "Rounds of adversarial filtering.", "least": 0})
    folds: int = field(default=10, metadata={"help": "Folds per round.", "least": 2})
    margin: float = field(default=0.05, metadata={"help": _MARGIN, "least": 0})
    penalty: float = field(default=1.0, metadata={"above": 0})  # on half the squared weights of the regression
    encoder: str = field(default="aptness", metadata={"help": "The encoder of the embeddings.", "metavar": "NAME"})
    seed: int = 0

    def __post_init__(self) -> None:
        for one in fields(self):
            value, bounds = getattr(self, one.name), one.metadata
            if "least" in bounds and value < bounds["least"]:
                raise InputError(f"{one.name} must be at least {bounds['least']}, not {value}")
            if "above" in bounds and not bounds["above"] < value <= bounds.get("most", value):
                most = f" and at most {bounds['most']}" if "most" in bounds else ""
                raise InputError(f"{one.name} must be above {bounds['above']}{most}, not {value}")
