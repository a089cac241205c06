"""The fields of a unit, in the order in which a page shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rejoinder.annotation.form import FORMS, AnswerKind
from rejoinder.annotation.project import Project
from rejoinder.annotation.unit import Field, Option, Unit

NONE = "none"
TIE = "tie"
_PLACES = ("The first", "The second")


def list_fields(project: Project, unit: Unit) -> tuple[Field, ...]:
    """Return the fields of a unit; those about one reply are together, replies in the order of the payload."""
    fields = list(_FIELDS[FORMS[unit.form].asks](project, unit))
    if project.comments:
        question = "Anything to add? (You may leave this empty.)"
        fields.append(Field("comment", "text", "comment", question, required=False, longest=project.longest_text))
    return tuple(fields)


def _unit_replies(unit: Unit) -> list[dict[str, str]]:
    return list(unit.payload.get("replies", ()))


def _option_fields(project: Project, unit: Unit) -> Iterator[Field]:
    for reply in _unit_replies(unit):
        key = reply["key"]
        for aspect in project.aspects:
            yield Field(f"{aspect.name}.{key}", "choice", aspect.name, aspect.question, key, aspect.options)


def _label_fields(project: Project, unit: Unit) -> Iterator[Field]:
    aspect = project.aspects[0]
    options = (*(Option(label, label) for label in project.labels), Option(NONE, "Nothing"))
    for reply in _unit_replies(unit):
        key = reply["key"]
        yield Field(f"{aspect.name}.{key}", "labels", aspect.name, aspect.question, key, options)


def _verdict_fields(project: Project, unit: Unit) -> Iterator[Field]:
    aspect = project.aspects[0]
    for reply in _unit_replies(unit):
        name = f"{aspect.name}.{reply['key']}"
        yield Field(name, "choice", aspect.name, aspect.question, reply["key"], aspect.options)
        yield Field(
            f"text.{reply['key']}",
            "text",
            "text",
            "The reply as it should be:",
            reply["key"],
            initial=reply["text"],
            longest=max(project.longest_text, len(reply["text"])),
            only_if=(name, "edit"),
        )


def _text_fields(project: Project, unit: Unit) -> Iterator[Field]:
    for aspect in project.aspects:
        initial = unit.payload.get("initial", {}).get(aspect.name, "")
        longest = max(project.longest_text, len(initial))
        yield Field(aspect.name, "text", aspect.name, aspect.question, initial=initial, longest=longest)


def _line_fields(project: Project, unit: Unit) -> Iterator[Field]:
    for aspect in project.aspects:
        initial = unit.payload.get("initial", {}).get(aspect.name, "")
        longest = max(project.longest_text, len(initial))
        yield Field(
            aspect.name, "lines", aspect.name, aspect.question, initial=initial, required=False, longest=longest
        )


def _preference_fields(project: Project, unit: Unit) -> Iterator[Field]:
    options = [Option(reply["key"], place) for reply, place in zip(_unit_replies(unit), _PLACES, strict=True)]
    if project.ties:
        options.insert(1, Option(TIE, "Both alike"))
    for aspect in project.aspects:
        yield Field(aspect.name, "choice", aspect.name, aspect.question, options=tuple(options))


_FIELDS: dict[AnswerKind, Callable[[Project, Unit], Iterator[Field]]] = {
    "options": _option_fields,
    "labels": _label_fields,
    "verdict": _verdict_fields,
    "texts": _text_fields,
    "lines": _line_fields,
    "preference": _preference_fields,
}
