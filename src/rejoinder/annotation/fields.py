"""The fields of a unit, in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rejoinder.annotation.form import FORMS, AnswerKind
from rejoinder.annotation.project import Project
from rejoinder.annotation.unit import AnswerField, AnswerOption, Unit

NONE = "none"
TIE = "tie"
_PLACES = ("The first", "The second")


def list_fields(project: Project, unit: Unit) -> tuple[AnswerField, ...]:
    """Return the fields of a unit; those about one reply are together, replies in the order of the payload."""
    fields = list(_FIELDS[FORMS[unit.form].asks](project, unit))
    if project.comments:
        question = "Anything to add? (You may leave this empty.)"
        fields.append(AnswerField("comment", "text", "comment", question, required=False, longest=project.longest_text))
    return tuple(fields)


def _unit_replies(unit: Unit) -> list[dict[str, str]]:
    return list(unit.payload.get("replies", ()))


def _option_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    for reply in _unit_replies(unit):
        key = reply["key"]
        for aspect in project.aspects:
            yield AnswerField(f"{aspect.name}.{key}", "choice", aspect.name, aspect.question, key, aspect.options)


def _label_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    aspect = project.aspects[0]
    options = (*(AnswerOption(label, label) for label in project.labels), AnswerOption(NONE, "Nothing"))
    for reply in _unit_replies(unit):
        key = reply["key"]
        yield AnswerField(f"{aspect.name}.{key}", "labels", aspect.name, aspect.question, key, options)


def _verdict_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    aspect = project.aspects[0]
    for reply in _unit_replies(unit):
        name = f"{aspect.name}.{reply['key']}"
        yield AnswerField(name, "choice", aspect.name, aspect.question, reply["key"], aspect.options)
        yield AnswerField(
            f"text.{reply['key']}",
            "text",
            "text",
            "The reply as it should be:",
            reply["key"],
            initial=reply["text"],
            longest=max(project.longest_text, len(reply["text"])),
            only_if=(name, "edit"),
        )


def _text_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    for aspect in project.aspects:
        initial = unit.payload.get("initial", {}).get(aspect.name, "")
        longest = max(project.longest_text, len(initial))
        yield AnswerField(aspect.name, "text", aspect.name, aspect.question, initial=initial, longest=longest)


def _line_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    for aspect in project.aspects:
        initial = unit.payload.get("initial", {}).get(aspect.name, "")
        longest = max(project.longest_text, len(initial))
        yield AnswerField(
            aspect.name, "lines", aspect.name, aspect.question, initial=initial, required=False, longest=longest
        )


def _preference_fields(project: Project, unit: Unit) -> Iterator[AnswerField]:
    options = [AnswerOption(reply["key"], place) for reply, place in zip(_unit_replies(unit), _PLACES, strict=True)]
    if project.ties:
        options.insert(1, AnswerOption(TIE, "Both alike"))
    for aspect in project.aspects:
        yield AnswerField(aspect.name, "choice", aspect.name, aspect.question, options=tuple(options))


_FIELDS: dict[AnswerKind, Callable[[Project, Unit], Iterator[AnswerField]]] = {
    "options": _option_fields,
    "labels": _label_fields,
    "verdict": _verdict_fields,
    "texts": _text_fields,
    "lines": _line_fields,
    "preference": _preference_fields,
}
