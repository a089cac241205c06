"""Label Studio's labeling configuration for a project's units."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from rejoinder.annotation.exports._shape import UnitShape, find_shape
from rejoinder.annotation.store.results import ProjectResults
from rejoinder.annotation.unit import AnswerField, AnswerOption

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def write(results: ProjectResults) -> bytes:
    """Return the labeling configuration for Label Studio's settings."""
    shape = find_shape(results)
    view = ElementTree.Element("View")
    _add_tag(view, "Header", value=results.project.title)
    for name, has_text in (("note", shape.note), ("goal", shape.goal), ("situation", shape.situation)):
        if has_text:
            _add_tag(view, "Text", name=name, value=f"${name}")
    _add_tag(view, "Text", name="context", value="$context")
    for number, key in enumerate(shape.replies, start=1):
        _add_tag(view, "Header", value="Reply" if len(shape.replies) == 1 else f"Reply {number}")
        _add_tag(view, "Text", name=key, value=f"${key}")
        _add_controls(view, shape, key)
    _add_controls(view, shape, None)
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode").encode() + b"\n"


def _add_controls(view: ElementTree.Element, shape: UnitShape, reply: str | None) -> None:
    for name, field in shape.fields.items():
        if field.reply == reply:
            _add_control(view, shape, name, field)


def _add_control(view: ElementTree.Element, shape: UnitShape, name: str, field: AnswerField) -> None:
    condition: dict[str, str] = {}
    if field.only_if is not None:
        other = next(name for name, other_field in shape.fields.items() if other_field.name == field.only_if[0])
        condition = {"visibleWhen": "choice-selected", "whenTagName": other, "whenChoiceValue": str(field.only_if[1])}
    block = _add_tag(view, "View", **condition) if condition else view
    decides = any(
        other_field.only_if is not None and other_field.only_if[0] == field.name
        for other_field in shape.fields.values()
    )
    _add_tag(block, "Header", value=field.question, size="4")
    required = "true" if field.required and name in shape.certain and not condition else "false"
    attributes: dict[str, str] = {"name": name, "toName": field.reply or "context", "required": required}
    if field.kind in ("choice", "labels"):
        choice_type = "multiple" if field.kind == "labels" else "single"
        choices = _add_tag(block, "Choices", **attributes, choice=choice_type, showInline="true")
        for option in field.options:
            _add_tag(choices, "Choice", **_choice_attributes(option, decides))
    else:
        start = {"value": f"$initial_{name}"} if field.initial or field.kind == "lines" else {}
        _add_tag(block, "TextArea", **attributes, **start, maxSubmissions="1", rows="4", editable="true")


def _choice_attributes(option: AnswerOption, decides: bool) -> dict[str, str]:
    """Return what is shown and, as ``alias``, what is stored; both are the same if another field depends on it."""
    if decides:
        return {"value": str(option.value)}
    text = f"{option.label} ({option.anchor})" if option.anchor else option.label
    return {"value": text, "alias": str(option.value)}


def _add_tag(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _CONTROL.sub("", text) for name, text in attributes.items()})
