"""Export and import of ratings and preferences in rejoinder's own JSONL.

Ratings of responses name the responses. Candidates and references, which are not responses in the data, are written as
responses with their item, so that the file can be read by itself or together with the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias, cast

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports._external import ExternalJudgement, ImportSummary, record_judgements, set_answer_field
from rejoinder.annotation.fields import TIE, list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import (
    FieldAnswer,
    ProjectResults,
    find_pair_choice,
    label_choices,
    order_pair_for_rater,
    split_answer,
)
from rejoinder.annotation.unit import FormName, Unit
from rejoinder.annotation.units import DRAW_KEYS
from rejoinder.data.reader import InputLine, decode_json_line
from rejoinder.data.schema import Place, from_object
from rejoinder.data.writer import encode_record
from rejoinder.types import Item, Preference, Rating, Record, Response, Turn

_TEXTS = ("texts", "lines")
_Places: TypeAlias = dict[tuple[str, ...], tuple[str, str, dict[Any, Any]]]


def write(results: ProjectResults) -> bytes:
    """Return all ratings and preferences, unit by unit."""
    project = results.project
    if not has_ratings(project.form):
        raise AnnotationError(f"the form {project.form!r} collects texts, not ratings; export 'texts'")
    lines = [encode_record(record) for record in (*_list_generated(results), *judgements_to_ratings(results))]
    return b"".join(lines)


def has_ratings(form: FormName) -> bool:
    """Whether a form collects ratings or preferences, and not only texts."""
    return FORMS[form].asks not in _TEXTS


def _list_generated(results: ProjectResults) -> Iterator[Record]:
    """Yield the items and responses that the ratings need and the data does not have as such."""
    items: dict[str, Item] = {}
    responses: dict[str, Response] = {}
    for unit in dict.fromkeys(unit.id for unit, _ in results.ordinary()):
        hidden, payload = results.units[unit].hidden, results.units[unit].payload
        texts = {reply["key"]: reply["text"] for reply in payload["replies"]}
        for key, reply in hidden["replies"].items():
            if reply.get("made"):
                turns = tuple(Turn(turn["text"], turn.get("speaker")) for turn in payload["context"])
                items[hidden["item"]] = Item(hidden["item"], turns)
                responses[reply["response"]] = Response(reply["response"], hidden["item"], reply["system"], texts[key])
    yield from items.values()
    yield from responses.values()


def judgements_to_ratings(results: ProjectResults, final: bool = True) -> Iterator[Rating | Preference]:
    """Yield the judgements as ratings and preferences; a label becomes an aspect, 1 if it was chosen and 0 if not.

    ``final`` puts the owner's decisions in place of the raters' answers; without it, only raters count.
    """
    for unit, judgement in results.final() if final else results.ordinary():
        for answer in split_answer(results, unit, judgement):
            yield from _to_records(results, answer)


def _to_records(results: ProjectResults, answer: FieldAnswer) -> Iterator[Rating | Preference]:
    judgement = answer.judgement
    meta: dict[str, Any] = {"unit": answer.unit.id}
    if seconds := round(judgement.seconds, 3):  # 0: imported without a time
        meta["seconds"] = seconds
    shown = answer.unit.hidden.get("replies", {}).values()
    drawn: dict[str, Any] = next((reply for reply in shown if reply["response"] == answer.response), {})
    meta |= {key: drawn[key] for key in DRAW_KEYS if key in drawn}
    if FORMS[answer.unit.form].asks == "preference" and answer.field.kind == "choice":
        replies = answer.unit.hidden["replies"]
        first, second = (
            replies[key]["response"] for key in order_pair_for_rater(results, answer.unit, judgement.rater)
        )
        choice = cast(Literal["first", "second", "tie"], find_pair_choice(results, answer))
        yield Preference(answer.unit.hidden["item"], first, second, judgement.rater, choice, answer.field.aspect, meta)
    elif answer.response is None:
        return
    elif answer.field.kind == "labels":
        for label, chosen in label_choices(answer).items():
            for response in (answer.response, *drawn.get("also", ())):
                yield Rating(judgement.rater, label, float(chosen), response, meta=meta)
    elif answer.number is not None:
        for response in (answer.response, *drawn.get("also", ())):
            yield Rating(judgement.rater, answer.field.aspect, answer.number, response, meta=meta)


def read(store: Store, content: bytes) -> ImportSummary:
    """Import ratings and preferences; a unit counts only if all of it was rated."""
    left_out: Counter[str] = Counter()
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    seconds: dict[tuple[str, str], float] = {}
    places = _find_places(store.project, [unit for unit in store.units() if unit.kind == "unit"])
    for number, text in enumerate(content.splitlines(), start=1):
        if not text.strip():
            continue
        place = Place("ratings", number)
        record = from_object(decode_json_line(InputLine(place, text, False)), place, allow_empty=True)
        if not isinstance(record, Rating | Preference):
            continue
        match = _find_place(record, places)
        if match is None:
            left_out["for something that this project does not ask about"] += 1
            continue
        unit, field, value = match
        answer = answers.setdefault((record.rater, unit), {})
        set_answer_field(answer, field, value)
        seconds[record.rater, unit] = float(record.meta.get("seconds", 0.0) or 0.0)
    external = (
        ExternalJudgement(rater, unit, answer, seconds[rater, unit]) for (rater, unit), answer in answers.items()
    )
    return record_judgements(store, external, left_out)


def _find_places(project: Project, units: list[Unit]) -> _Places:
    """Return where each rating or preference belongs: unit, field, and values by number (or by response)."""
    places: _Places = {}
    values: dict[Any, Any]
    for unit in units:
        replies = unit.hidden["replies"]
        for field in list_fields(project, unit):
            response = replies.get(field.reply, {}).get("response")
            if field.kind == "labels":
                for option in field.options:
                    values = {1.0: [option.value], 0.0: []}
                    places["rating", response, str(option.value)] = (unit.id, field.name, values)
            elif field.kind == "choice" and field.reply is None:
                pair = tuple(sorted(reply["response"] for reply in replies.values()))
                values = {reply["response"]: key for key, reply in replies.items()} | {TIE: TIE}
                places["preference", pair[0], pair[1], field.aspect] = (unit.id, field.name, values)
            elif field.kind == "choice" and all(isinstance(option.value, int) for option in field.options):
                values = {float(option.value): option.value for option in field.options}
                places["rating", response, field.aspect] = (unit.id, field.name, values)
    return places


def _find_place(record: Rating | Preference, places: _Places) -> tuple[str, str, Any] | None:
    key: float | str
    if isinstance(record, Rating):
        entry, key = places.get(("rating", record.response or "", record.aspect)), record.value
    else:
        entry = places.get(("preference", *sorted((record.first, record.second)), record.aspect))
        key = {"first": record.first, "second": record.second, "tie": TIE}[record.choice]
    return None if entry is None else (entry[0], entry[1], entry[2].get(key))
