"""Which candidates of a question are right: those with its best grade.

A grade is a number (more is better) or a word of one of the scales below; a question with one grade for all its
candidates, or with words of two scales, has no right answer and is an error, not a guess.
"""

from __future__ import annotations

from rejoinder.errors import InputError, brief
from rejoinder.types import Question

TRUE, FALSE = "true", "false"
# From worst to best; words of one rank are equally good.
SCALES: tuple[tuple[frozenset[str], ...], ...] = (
    (frozenset({FALSE}), frozenset({TRUE})),
    (frozenset({"adversarial", "random"}), frozenset({"positive"})),
    (frozenset({"bad"}), frozenset({"acceptable"}), frozenset({"best"})),
)


def ranks(question: Question) -> list[float]:
    """The grade of each candidate as a number, in order; only their order means something."""
    grades = [candidate.grade for candidate in question.candidates]
    if None in grades:
        raise InputError(
            f"question {question.id}: candidate {grades.index(None) + 1} has no grade, so nobody knows what is right; "
            "grade it, or build a test set with: rejoinder build"
        )
    if all(isinstance(grade, int | float) for grade in grades):
        return [float(grade) for grade in grades if grade is not None]
    words = [str(grade).casefold() for grade in grades]
    for scale in SCALES:
        if set(words) <= frozenset().union(*scale):
            return [float(next(n for n, rank in enumerate(scale) if word in rank)) for word in words]
    raise InputError(
        f"question {question.id}: its grades {brief(sorted(set(map(str, grades))))} are of no known scale; "
        "use numbers, true and false, or Bad, Acceptable and Best"
    )


def right(question: Question) -> frozenset[int]:
    """The places of the right candidates."""
    found = ranks(question)
    best = max(found)
    if min(found) == best and len(found) > 1:
        raise InputError(f"question {question.id}: all its {len(found)} candidates have one grade; one must be better")
    return frozenset(n for n, rank in enumerate(found) if rank == best)
