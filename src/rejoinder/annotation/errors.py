"""What a rater or an owner can do wrong; each is one sentence that a page may show.

RejoinderError
└── AnnotationError
    ├── AnswerError       an answer that the form does not allow; ``problems`` says what, field by field
    ├── TooFastError      an answer that came before the project's minimum time was over
    ├── LeaseLostError    an assignment that expired, and whose place has been given to somebody else
    ├── AnsweredError     an assignment that was answered before, and differently
    └── NotYoursError     an assignment that does not exist or is another rater's (nobody is told which)
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
    """An answer that came before the project's minimum time was over."""

    def __init__(self, seconds: float, minimum: float) -> None:
        self.seconds, self.minimum = seconds, minimum
        super().__init__(
            f"this was answered after {seconds:.1f} seconds, the project asks for at least {minimum:g}; "
            "please look again, then send it"
        )


class LeaseLostError(AnnotationError):
    """An assignment that expired, and whose place has been given to somebody else."""

    def __init__(self) -> None:
        super().__init__("this took longer than the project allows and was given to somebody else; go on with the next")


class AnsweredError(AnnotationError):
    """An assignment that was answered before, and differently."""

    def __init__(self) -> None:
        super().__init__("this was answered already with something else; to change an answer, take it back first")


class NotYoursError(AnnotationError):
    """An assignment that does not exist or is another rater's."""

    def __init__(self) -> None:
        super().__init__("there is no such assignment of yours; go on with the next")
