"""What a store of judgements offers: the values it hands out, and the store as a protocol.

Times are seconds since 1970 (UTC). A store is of one project; it may be used from many threads, and several processes
may have the same database open. Nothing is acknowledged before it is committed: when ``submit`` returns, the judgement
survives the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from rejoinder.annotation.project import Project
from rejoinder.annotation.unit import Answer, Unit, UnitKind

Role: TypeAlias = Literal["owner", "rater", "entrance"]
Stage: TypeAlias = Literal["exercise", "work", "waiting", "finished", "unqualified", "stopped"]


@dataclass(frozen=True, slots=True)
class Rater:
    """Somebody with a link: a rater, an owner, or an entrance, through which raters come in under their own names."""

    id: str
    name: str
    role: Role
    created: float
    expires: float | None = None
    revoked: bool = False
    by: str | None = None  # the id of the entrance through which a rater came


@dataclass(frozen=True, slots=True)
class Assignment:
    """A unit in the hands of a rater until a time.

    The unit's hidden part is left out, its kind is "unit" unless it is an exercise, its replies stand in the rater's
    order. ``previous`` is the answer that is to be replaced, after an undo. ``attempt`` counts an exercise's tries.
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

    ``rater`` is the rater's name, ``unit`` the unit's id. ``right`` is whether a gold question, an attention check or
    an exercise was answered as expected (None for all others; not to be shown but for exercises). ``explanation`` is
    the exercise's.
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

    exercise: the exercise comes first. work: there is a unit to answer. waiting: all that is left is in others' hands
    and may come back. finished: nothing is left for this rater. unqualified: the exercise was failed too often.
    stopped: too many checks were failed. ``done`` of ``total`` units (checks count as units here, so that they do not
    show); ``exercise_done`` of ``exercise_total`` in the present attempt.
    """

    stage: Stage
    done: int
    total: int
    exercise_done: int = 0
    exercise_total: int = 0
    attempt: int = 1
    can_undo: bool = False


class RaterProgress(NamedTuple):
    """What one rater has done, for the owner."""

    name: str
    role: Role
    stage: Stage
    done: int
    checks: int
    checks_right: int
    exercise_right: int
    exercise_answered: int
    median_seconds: float  # NaN before the first
    last: float | None


class ProjectProgress(NamedTuple):
    """How far a project is, for the owner: units, judgements wanted and there (checks and exercises not counted)."""

    units: int
    complete: int  # units with all their judgements
    wanted: int
    done: int
    held: int  # assignments in raters' hands now
    raters: tuple[RaterProgress, ...]


class LoadCounts(NamedTuple):
    """What loading units did: new ones, those that were there, unjudged ones whose text changed, ones taken out."""

    added: int
    kept: int
    changed: int
    retired: int


class Store(Protocol):
    """A project's units, raters, assignments and judgements."""

    @property
    def project(self) -> Project:
        """The project that this store is of."""

    def load(self, units: Iterable[Unit]) -> LoadCounts:
        """Put a project's units in; may be repeated. A unit that has been judged cannot change: AnnotationError."""

    def add_rater(self, name: str, role: Role = "rater", expires: float | None = None) -> str:
        """Enter somebody, and return the token, which is not stored (its sha256 is) and cannot be had again."""

    def renew(self, name: str, expires: float | None = None) -> str:
        """A new token for somebody; the old one is worth nothing from now on."""

    def first_token(self, name: str) -> str | None:
        """A token for somebody who has never had one; None where they have."""

    def revoke(self, name: str) -> None:
        """Shut somebody out; what was judged stays."""

    def who(self, token: str) -> Rater | None:
        """Whose token this is; None for an unknown, expired or revoked one."""

    def admit(self, entrance: Rater, name: str) -> Rater:
        """The rater of that name who came through an entrance, entered where new (Prolific's PROLIFIC_PID)."""

    def rater(self, id: str) -> Rater | None:
        """Somebody by id, for a session; None for unknown, expired or revoked."""

    def raters(self) -> list[Rater]:
        """Everybody, in the order in which they were entered."""

    def next_unit(self, rater: Rater) -> Assignment | None:
        """What the rater is to answer now: what is in hand already, else the next one; None where nothing is left."""

    def held(self, rater: Rater, assignment: str) -> Assignment | None:
        """An assignment that is in the rater's hands now."""

    def submit(self, rater: Rater, assignment: str, answer: Mapping[str, Any], seconds: float) -> Judgement:
        """Check (AnswerError) and commit an answer; the same answer sent again gives the same judgement."""

    def undo(self, rater: Rater) -> Assignment | None:
        """Take the rater's latest answer in hand again (``previous``); it stays valid until another supersedes it."""

    def standing(self, rater: Rater) -> RaterStanding:
        """How far a rater is."""

    def progress(self) -> ProjectProgress:
        """How far the project is."""

    def record(
        self, rater: str, unit: str, answer: Mapping[str, Any], seconds: float, at: float | None = None
    ) -> Judgement | None:
        """Take in what was judged elsewhere; None where the same is there already. The rater is entered where new."""

    def units(self) -> list[Unit]:
        """All units that were ever loaded, with what is hidden; those taken out since included."""

    def judgements(self, superseded: bool = False) -> list[Judgement]:
        """What was judged, in the order of time; with those that were superseded where asked."""

    def close(self) -> None:
        """Let go of the database."""
