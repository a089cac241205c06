"""The store of judgements as a protocol, and the values that it returns.

Times are seconds since 1970 (UTC). A store belongs to one project; it may be used from many threads, and several
processes may have the same database open. Nothing is acknowledged before it is committed: when ``submit`` returns, the
judgement survives the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from rejoinder.annotation.project import Project
from rejoinder.annotation.unit import Answer, Unit, UnitKind

ADJUDICATOR = "adjudicator"  # the name under which the owner's decisions are stored
Role: TypeAlias = Literal["owner", "rater", "entrance"]
Stage: TypeAlias = Literal["exercise", "work", "waiting", "finished", "unqualified", "stopped"]


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody with a link: a rater, an owner, or an entrance (a shared link that raters open with their own ids)."""

    id: str
    name: str
    role: Role
    created: float
    expires: float | None = None
    revoked: bool = False
    by: str | None = None  # the id of the shared link that a rater used


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit that is assigned to a rater until a time.

    The unit's hidden part is left out, its kind is "unit" unless it is an exercise, and its replies are in the rater's
    order. ``previous`` is the answer to be replaced, after an undo. ``attempt`` counts the attempts at an exercise.
    """

    id: str
    unit: Unit
    rater: str
    taken: float
    until: float
    previous: Answer | None = field(default=None, hash=False)
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class Judgement:
    """One answer as it was committed; never changed, only superseded by a later one.

    ``rater`` is the rater's name, ``unit`` the unit's id. ``right`` says whether a gold question, an attention check or
    an exercise was answered as expected (None for all others; shown to raters only for exercises). ``explanation`` is
    that of the exercise.
    """

    id: str
    assignment: str
    unit: str
    kind: UnitKind
    rater: str
    answer: Answer = field(hash=False)
    seconds: float
    at: float
    supersedes: str | None = None
    right: bool | None = None
    explanation: str = ""


class RaterStanding(NamedTuple):
    """How far a rater is.

    exercise: the exercise comes first. work: there is a unit to answer. waiting: all remaining units are assigned to
    others and may become free. finished: nothing is left for this rater. unqualified: the exercise was failed too
    often. stopped: too many checks were failed. ``done`` of ``total`` units (checks count as units here, so that they
    are not noticed); ``exercise_done`` of ``exercise_total`` in the current attempt.
    """

    stage: Stage
    done: int
    total: int
    exercise_done: int = 0
    exercise_total: int = 0
    attempt: int = 1
    can_undo: bool = False


class RaterProgress(NamedTuple):
    """The progress of one rater, for the owner."""

    name: str
    role: Role
    stage: Stage
    done: int
    checks: int
    checks_right: int
    exercise_right: int
    exercise_answered: int
    median_seconds: float  # NaN without timed answers
    last: float | None


class ProjectProgress(NamedTuple):
    """The progress of a project, for the owner: units, judgements wanted and done (without checks and exercises)."""

    units: int
    complete: int  # units with all their judgements
    wanted: int
    done: int
    held: int  # open assignments
    raters: tuple[RaterProgress, ...]


class LoadCounts(NamedTuple):
    """What loading units did: units added, kept, changed (not judged yet) and retired (no longer in the data)."""

    added: int
    kept: int
    changed: int
    retired: int


class Store(Protocol):
    """A project's units, raters, assignments and judgements."""

    @property
    def project(self) -> Project:
        """The project of this store."""

    def load(self, units: Iterable[Unit]) -> LoadCounts:
        """Load a project's units; may be repeated. A unit that has been judged cannot change (AnnotationError)."""

    def add_rater(self, name: str, role: Role = "rater", expires: float | None = None) -> str:
        """Add a person, and return the token; only its sha256 is stored, so it cannot be shown again."""

    def renew(self, name: str, expires: float | None = None) -> str:
        """Return a new token for a person; the old one ends."""

    def first_token(self, name: str) -> str | None:
        """Return a token for a person who has never had one, else None."""

    def revoke(self, name: str) -> None:
        """Revoke a person's access; their judgements stay."""

    def who(self, token: str) -> Rater | None:
        """Return the person whose token this is; None for an unknown, expired or revoked one."""

    def had_access(self, token: str) -> bool:
        """Whether this is somebody's token that was revoked or has expired (a renewed one is forgotten)."""

    def admit(self, entrance: Rater, name: str) -> Rater:
        """Return the rater of that name who used a shared link, added if new (Prolific's PROLIFIC_PID)."""

    def rater(self, id: str) -> Rater | None:
        """Return a person by id, for a session; None if unknown, expired or revoked."""

    def raters(self) -> list[Rater]:
        """Return all people, in the order in which they were added."""

    def next_unit(self, rater: Rater) -> Assignment | None:
        """Return the rater's current assignment, else the next one; None if nothing is left."""

    def find_assignment(self, rater: Rater, assignment: str) -> Assignment | None:
        """Return a current assignment of the rater, or None."""

    def submit(self, rater: Rater, assignment: str, answer: Mapping[str, Any], seconds: float) -> Judgement:
        """Check (AnswerError) and commit an answer; the same answer sent again gives the same judgement."""

    def undo(self, rater: Rater) -> Assignment | None:
        """Reopen the rater's latest answer (``previous``); it stays valid until another supersedes it."""

    def standing(self, rater: Rater) -> RaterStanding:
        """Return how far a rater is."""

    def progress(self) -> ProjectProgress:
        """Return how far the project is."""

    def record(
        self, rater: str, unit: str, answer: Mapping[str, Any], seconds: float, at: float | None = None
    ) -> Judgement | None:
        """Add a judgement made elsewhere; None if the same is there already. A new rater is added."""

    def decide(self, unit: str, answer: Mapping[str, Any]) -> Judgement | None:
        """Store the owner's decision about a unit, which supersedes an earlier one; None if it is the same again."""

    def units(self) -> list[Unit]:
        """Return all units that were ever loaded, with their hidden part, including retired ones."""

    def judgements(self, superseded: bool = False) -> list[Judgement]:
        """Return the judgements in order of time, on request including superseded ones."""

    def close(self) -> None:
        """Close the database."""
