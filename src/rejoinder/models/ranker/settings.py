"""What decides how a ranker reads a question, besides its weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

RankerKind: TypeAlias = Literal["situated", "cross"]
EMBEDDED = "embedded"  # the encoder that comes with the package
_LIKENESS = "How much words shared with the candidate favour a statement, in log-odds."


@dataclass(frozen=True)
class RankerLimits:
    """How much is read, in tokens."""

    statement_tokens: int = 40
    request_tokens: int = 96
    candidate_tokens: int = 64
    row_tokens: int = 510


@dataclass(frozen=True)
class StatementReadingRule:
    """Which statements are read for a candidate: all of a short situation, the most likely few of a longer one."""

    whole: int = 8  # statements: a situation with no more than this is read in full
    most: int = 3
    # What a statement gains for words similar to the candidate's.
    likeness: float = field(default=4.0, metadata={"help": _LIKENESS, "least": 0})
