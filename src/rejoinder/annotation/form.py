"""The ten forms: what each shows, what it asks, and its defaults, taken from its paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.annotation.project import ProjectAspect
from rejoinder.annotation.unit import AnswerOption, FormName

ShownKind: TypeAlias = Literal["responses", "candidates", "references", "added references", "items", "pairs"]
AnswerKind: TypeAlias = Literal["options", "labels", "verdict", "texts", "lines", "preference"]

VERDICTS = (AnswerOption("accept", "Accept"), AnswerOption("edit", "Edit"), AnswerOption("reject", "Reject"))
LABELS = (
    "off topic",
    "ignores the question",
    "contradicts what was said",
    "repeats what was said",
    "makes up facts",
    "not fluent",
    "rude or unsafe",
)
CATEGORIES = (
    ("location", "Where is the user?"),
    ("possession", "What does the user have at hand?"),
    ("time", "What time of the day is it?"),
    ("date", "What day or season is it?"),
    ("behavior", "What is or was the user doing?"),
    ("environment", "What is it like around the user?"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """What a form shows and asks, and the defaults of a project that uses it."""

    shows: ShownKind
    asks: AnswerKind
    aspects: tuple[ProjectAspect, ...]
    raters_per_unit: int
    replies_per_unit: int = 1  # 0 for all of an item
    source: str = ""


def make_scale(low: int, high: int, anchors: dict[int, str]) -> tuple[AnswerOption, ...]:
    """Return the options of a scale of whole numbers."""
    return tuple(AnswerOption(n, str(n), anchors.get(n, "")) for n in range(low, high + 1))


def make_word_scale(*labels: str) -> tuple[AnswerOption, ...]:
    """Return the options of a scale of words, starting with the lowest, which is 0."""
    return tuple(AnswerOption(n, label) for n, label in enumerate(labels))


_FIVE_POINT_SCALE = make_scale(1, 5, {1: "not at all", 5: "very"})
_CHOSEN_SCALE = make_scale(0, 5, {0: "ungrammatical", 1: "cannot be a reply here at all", 5: "clearly fits here"})
_YES_NO_SCALE = make_word_scale("No", "Yes")

FORMS: dict[FormName, Form] = {
    "rate": Form(
        "responses",
        "options",
        (
            ProjectAspect("appropriate", "How appropriate is the response overall?", _FIVE_POINT_SCALE),
            ProjectAspect("on-topic", "How on-topic is the response?", _FIVE_POINT_SCALE),
        ),
        5,
        source="SSREM (Bak and Oh 2020), after Lowe et al. (2017)",
    ),
    "candidates": Form(
        "candidates",
        "options",
        (ProjectAspect("appropriate", "How well does this fit as the next utterance?", _CHOSEN_SCALE),),
        5,
        0,
        "CHOSEN (Sato et al. 2020)",
    ),
    "grade": Form(
        "candidates",
        "options",
        (
            ProjectAspect(
                "grade", "How good is this reply in this situation?", make_word_scale("Bad", "Acceptable", "Best")
            ),
        ),
        3,
        0,
        "SUGAR (Otani et al. 2023), step 8",
    ),
    "references": Form(
        "references",
        "options",
        (
            ProjectAspect(
                "appropriate",
                "Is this reply appropriate here? (Ignore small errors of grammar.)",
                make_word_scale("Not appropriate", "Neutral", "Appropriate"),
            ),
        ),
        2,
        source="SCARCE (Gangal et al. 2021)",
    ),
    "review": Form(
        "added references", "verdict", (ProjectAspect("verdict", "Keep this as a good reply?", VERDICTS),), 1
    ),
    "write": Form(
        "items",
        "texts",
        (
            ProjectAspect("accepting", "Write a reply that says yes, and suggests something that helps with the goal."),
            ProjectAspect("rejecting", "Write a reply that says no, says why, and suggests something else that helps."),
        ),
        2,
        source="SUGAR (Otani et al. 2023), step 3",
    ),
    "situation": Form(
        "items",
        "lines",
        tuple(
            ProjectAspect(name, f"{question} (One fact per line, something that could be seen or measured.)")
            for name, question in CATEGORIES
        ),
        1,
        source="SUGAR (Otani et al. 2023), steps 2 and 5",
    ),
    "validate": Form(
        "responses",
        "options",
        (
            ProjectAspect("new", "Does the reply suggest or ask for something new?", _YES_NO_SCALE),
            ProjectAspect("helpful", "Does that help with the goal?", _YES_NO_SCALE),
        ),
        3,
        source="SUGAR (Otani et al. 2023), step 4",
    ),
    "errors": Form("responses", "labels", (ProjectAspect("errors", "What is wrong with this reply?"),), 3),
    "compare": Form("pairs", "preference", (ProjectAspect("overall", "Which reply is better?"),), 3, 2),
}
