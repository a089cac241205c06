"""Label Studio: export of tasks with their annotations, and import of annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from rejoinder.annotation.exports._external import (
    ExternalJudgement,
    ImportSummary,
    make_rater_pseudonym,
    record_judgements,
)
from rejoinder.annotation.exports._shape import UnitShape, find_shape, list_lines
from rejoinder.annotation.store.base import Judgement, Store
from rejoinder.annotation.store.results import ProjectResults, read_results
from rejoinder.annotation.unit import AnswerField, Unit, Value
from rejoinder.errors import InputError, brief

_EMPTY = "\N{EM DASH}"  # for units with fewer replies than others


def write(results: ProjectResults) -> bytes:
    """Return the tasks as a JSON list, each with its annotations; raters are numbered, like Label Studio's users."""
    shape = find_shape(results)
    raters = {name: n for n, name in enumerate(sorted({j.rater for j in results.judgements}), start=1)}
    by_unit: dict[str, list[Judgement]] = {}
    for judgement in results.judgements:
        by_unit.setdefault(judgement.unit, []).append(judgement)
    tasks = [
        _make_task(shape, unit, number, by_unit.get(unit.id, []), raters)
        for number, unit in enumerate(shape.units, start=1)
    ]
    return orjson.dumps(tasks, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _make_task(
    shape: UnitShape, unit: Unit, number: int, judgements: list[Judgement], raters: dict[str, int]
) -> dict[str, Any]:
    texts = {reply["key"]: reply["text"] for reply in unit.payload["replies"]}
    data = {"unit": unit.id, "context": "\n".join(list_lines(unit, "context")) or _EMPTY}
    data |= {key: texts.get(key, _EMPTY) for key in shape.replies}
    for key, has_text in (("goal", shape.goal), ("note", shape.note)):
        if has_text:
            data[key] = unit.payload.get(key, _EMPTY)
    if shape.situation:
        data["situation"] = "\n".join(list_lines(unit, "situation")) or _EMPTY
    for name, field in shape.fields.items():
        if field.kind in ("text", "lines"):
            data[f"initial_{name}"] = _initial_text(unit, field)
    rater_names = {str(raters[judgement.rater]): judgement.rater for judgement in judgements}
    return {
        "id": number,
        "data": data,
        "annotations": [_make_annotation(shape, judgement, raters) for judgement in judgements],
        "predictions": [],
        "meta": {"unit": unit.id, "raters": rater_names},
    }


def _initial_text(unit: Unit, field: AnswerField) -> str:
    if field.reply is not None:
        return next((r["text"] for r in unit.payload["replies"] if r["key"] == field.reply), "")
    return str(unit.payload.get("initial", {}).get(field.name, ""))


def _make_annotation(shape: UnitShape, judgement: Judgement, raters: dict[str, int]) -> dict[str, Any]:
    at = datetime.fromtimestamp(judgement.at, UTC).isoformat()
    return {
        "id": int(judgement.id[:13], 16),
        "completed_by": raters[judgement.rater],
        "result": [
            _make_result(f"{judgement.id[-8:]}{n}", name, field, judgement.answer[field.name])
            for n, (name, field) in enumerate(shape.fields.items())
            if field.name in judgement.answer
        ],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": at,
        "updated_at": at,
        "lead_time": round(judgement.seconds, 3),
    }


def _make_result(id: str, name: str, field: AnswerField, value: Value) -> dict[str, Any]:
    if field.kind in ("choice", "labels"):
        kind, inner = "choices", {"choices": value if isinstance(value, list) else [str(value)]}
    else:
        kind, inner = "textarea", {"text": [str(value)]}
    about = field.reply or "context"
    return {"id": id, "from_name": name, "to_name": about, "type": kind, "origin": "manual", "value": inner}


def read(store: Store, content: bytes) -> ImportSummary:
    """Import Label Studio's JSON export; cancelled annotations are left out."""
    try:
        tasks = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(f"the file is not valid JSON ({error}); export from Label Studio as JSON") from None
    if not isinstance(tasks, list) or not all(isinstance(t, dict) and isinstance(t.get("data"), dict) for t in tasks):
        raise InputError("the file is not a list of tasks; export from Label Studio as JSON, not as JSON-MIN")
    left_out: Counter[str] = Counter()
    shape = find_shape(read_results(store))
    return record_judgements(store, _read_judgements(store, shape, tasks, left_out), left_out)


def _read_judgements(
    store: Store, shape: UnitShape, tasks: list[dict[str, Any]], left_out: Counter[str]
) -> Iterator[ExternalJudgement]:
    for task in tasks:
        for annotation in task.get("annotations") or ():
            if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
                left_out["cancelled"] += 1
                continue
            unit, seconds = str(task["data"].get("unit", "")), annotation.get("lead_time")
            answer = {}
            for result in annotation.get("result") or ():
                if isinstance(result, dict) and result.get("from_name") in shape.fields:
                    field = shape.fields[result["from_name"]]
                    answer[field.name] = _parse_value(field, result.get("value"))
            duration = float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else 0.0
            yield ExternalJudgement(
                _find_rater(store, task, annotation), unit, answer, duration, _parse_time(annotation.get("created_at"))
            )


def _find_rater(store: Store, task: dict[str, Any], annotation: dict[str, Any]) -> str:
    user = annotation.get("completed_by")
    if isinstance(user, dict):
        user = user.get("id", user.get("email"))
    meta = task.get("meta")
    raters = meta.get("raters") if isinstance(meta, dict) else None
    if isinstance(raters, dict) and str(user) in raters:
        return str(raters[str(user)])
    return f"labelstudio-{user}" if isinstance(user, int) else make_rater_pseudonym(store, "labelstudio", str(user))


def _parse_value(field: AnswerField, value: Any) -> Any:
    content = (
        value.get("choices" if field.kind in ("choice", "labels") else "text") if isinstance(value, dict) else None
    )
    if field.kind == "labels" or content is None:
        return content
    single = content[0] if isinstance(content, list) and len(content) == 1 else content
    if field.kind == "choice":
        return next((option.value for option in field.options if str(option.value) == single), single)
    return "\n".join(str(text) for text in content) if isinstance(content, list) else single


def _parse_time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp() if text else None
    except ValueError:
        raise InputError(f"an annotation has an invalid time in 'created_at': {brief(text)}") from None
