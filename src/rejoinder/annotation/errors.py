"""Errors of raters and owners; each is one sentence that a page may show.

RejoinderError
└── AnnotationError
    ├── AnswerError       an answer that the form does not allow; ``problems`` says what is wrong, per field
    ├── TooFastError      an answer given in less than the project's minimum time
    ├── LeaseLostError    an assignment that expired and was given to another rater
    ├── AnsweredError     an assignment that already has a different answer
    └── NotYoursError     an assignment that does not exist or is another rater's (the message does not say which)
"""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.errors import RejoinderError


class AnnotationError(RejoinderError):
    """Something that cannot be done with this project, unit or rater."""


class AnswerError(AnnotationError):
    """An answer that the form does not allow."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__("; ".join(f"{name}: {problem}" for name, problem in self.problems.items()))


class TooFastError(AnnotationError):
    """An answer given in less than the project's minimum time."""

    def __init__(self, seconds: float, minimum: float) -> None:
        self.seconds, self.minimum = seconds, minimum
        super().__init__(
            f"this was answered after {seconds:.1f} seconds, but the project asks for at least {minimum:g}; "
            "please look at it again, then send it"
        )


class LeaseLostError(AnnotationError):
    """An assignment that expired and was given to another rater."""

    def __init__(self) -> None:
        super().__init__(
            "this took longer than the project allows and was given to another rater; please continue with the next"
        )


class AnsweredError(AnnotationError):
    """An assignment that already has a different answer."""

    def __init__(self) -> None:
        super().__init__("this already has a different answer; to change an answer, take it back first")


class NotYoursError(AnnotationError):
    """An assignment that does not exist or is another rater's."""

    def __init__(self) -> None:
        super().__init__("you have no such assignment; please continue with the next")
