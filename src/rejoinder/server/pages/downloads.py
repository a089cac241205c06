"""What a table of replies lists, as a file: CSV, JSONL, or an annotation project that asks people about it."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rejoinder.data.objects import to_object
from rejoinder.errors import RejoinderError
from rejoinder.escape import escape_cell
from rejoinder.scoring.frames import RATING, column_name
from rejoinder.server.api.endpoint import no_token_response, status_of
from rejoinder.server.pages.cache import NotYetError
from rejoinder.server.pages.context import PageContext, QueryError, parse_query, problem_response, wants_page
from rejoinder.server.pages.replies import load_index
from rejoinder.server.pages.reply_filter import QUERY, read_filter
from rejoinder.server.pages.reply_index import ReplyIndex, Rows
from rejoinder.server.templates import not_found_page
from rejoinder.table import format_count

MAX_UNITS = 5_000  # replies of an annotation project
_ROWS = 2_000  # of one part of a file
_PLAIN = re.compile(r"[^A-Za-z0-9_-]+")
_README = """# An annotation project

The replies that were listed on the page, for people to rate. Start it in this folder:

    rejoinder annotate project.toml
"""


def download_endpoint(context: PageContext, form: str) -> Callable[[Request], Any]:
    """Return the endpoint of the listed replies in one form: csv, jsonl or zip (an annotation project)."""

    async def endpoint(request: Request) -> Response:
        as_page = wants_page(request)
        if not context.auth.knows(request):
            return not_found_page() if as_page else no_token_response()
        name = request.path_params["run"]
        try:
            index = await load_index(context, name)
            rows = await run_in_threadpool(read_filter(parse_query(request, QUERY), index).rows, index)
            return await run_in_threadpool(_FORMS[form], index, rows, name)
        except NotYetError:
            return problem_response(context, as_page, 503, "the run is being read; please try again in a moment")
        except QueryError as error:
            return problem_response(context, as_page, 422, str(error), request.url.path)
        except RejoinderError as error:
            return problem_response(context, as_page, status_of(error), str(error), request.url.path)

    return endpoint


def _read_columns(index: ReplyIndex, rows: Rows) -> dict[str, list[Any]]:
    """The replies as ``rejoinder show`` writes them, with their slices and flags."""
    scores, places = index.scores, rows.tolist()
    dialogues = [*scores.dialogues, None]  # -1: no dialogue
    columns: dict[str, list[Any]] = {
        "response": [scores.responses[row] for row in places],
        "item": [scores.items[row] for row in places],
        "dialogue": [dialogues[code] for code in scores.dialogue_codes[rows].tolist()],
        "system": [scores.systems[code] for code in scores.system_codes[rows].tolist()],
        "context": [index.contexts[number] for number in index.item_codes[rows].tolist()],
        "reply": [index.replies[row] for row in places],
    }
    columns |= {column_name(spec): column[rows].tolist() for spec, column in scores.values.items()}
    columns |= {RATING + aspect: column[rows].tolist() for aspect, column in index.ratings.items()}
    columns |= {key: [column.text(row) or None for row in places] for key, column in index.slices.items()}
    return columns | {"flags": [", ".join(index.row_flags(row)) for row in places]}


def _stream(parts: Iterator[str], kind: str, name: str, ending: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{_PLAIN.sub("-", name)}.{ending}"'}
    return StreamingResponse((part.encode() for part in parts), 200, headers, kind)


def _batches(index: ReplyIndex, rows: Rows) -> Iterator[dict[str, list[Any]]]:
    for start in range(0, max(1, len(rows)), _ROWS):
        yield _read_columns(index, rows[start : start + _ROWS])


def _csv_file(index: ReplyIndex, rows: Rows, name: str) -> Response:
    def parts() -> Iterator[str]:
        for number, columns in enumerate(_batches(index, rows)):
            out = io.StringIO(newline="")
            lines = csv.writer(out)
            if number == 0:
                lines.writerow(map(escape_cell, columns))
            lines.writerows(zip(*(map(_csv_cell, column) for column in columns.values()), strict=True))
            yield out.getvalue()

    return _stream(parts(), "text/csv; charset=utf-8", name, "csv")


def _csv_cell(value: Any) -> Any:
    """A cell that no spreadsheet reads as a formula; empty where there is no value."""
    if isinstance(value, str):
        return escape_cell(value)
    return "" if value is None or value != value else value


def _jsonl_file(index: ReplyIndex, rows: Rows, name: str) -> Response:
    def parts() -> Iterator[str]:
        for columns in _batches(index, rows):
            lines = (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))
            yield "".join(orjson.dumps(line).decode() + "\n" for line in lines)

    return _stream(parts(), "application/x-ndjson", name, "jsonl")


def _project_file(index: ReplyIndex, rows: Rows, name: str) -> Response:
    """A ZIP of a project file as ``rejoinder annotate`` reads it, and of the replies with their items."""
    if not len(rows):
        raise RejoinderError("no reply is listed, so there is nothing to annotate; remove a filter")
    n_listed, rows = len(rows), rows[[bool(index.replies[row].strip()) for row in rows.tolist()]]
    if not len(rows):
        raise RejoinderError("every reply that is listed is empty, so there is nothing to annotate")
    if len(rows) > MAX_UNITS:
        raise RejoinderError(
            f"{len(rows):,} replies are listed, and a project takes at most {MAX_UNITS:,}; filter them first"
        )
    plain = _PLAIN.sub("-", name).strip("-_")[:40] or "replies"
    lines, items = [], set()
    for row in rows.tolist():
        number = int(index.item_codes[row])
        if number not in items:
            items.add(number)
            lines.append(orjson.dumps(to_object(index.read_item(number))))
        lines.append(orjson.dumps(to_object(index.read_response(row))))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"{plain}/project.toml", _project_text(plain, len(rows), n_listed - len(rows)))
        file.writestr(f"{plain}/replies.jsonl", b"\n".join(lines) + b"\n")
        file.writestr(f"{plain}/README.md", _README)
    headers = {"Content-Disposition": f'attachment; filename="{plain}-annotation.zip"'}
    return Response(packed.getvalue(), 200, headers, "application/zip")


def _project_text(name: str, n: int, n_empty: int) -> str:
    rated = format_count(n, "reply", "replies")
    empty = f" Left out because they are empty: {n_empty:,}." if n_empty else ""
    return f'''# A project for `rejoinder annotate`: people rate {rated} of a run.{empty}
# Change the questions and the instructions to what you want to know; docs/annotating.md explains every key.
name = "{name}"
title = "How good are these replies?"
form = "rate"
data = ["replies.jsonl"]
instructions = """
You see the beginning of a conversation and one reply to it. Read both, then answer the question below.
"""
raters_per_unit = 3

[[aspects]]
name = "appropriate"
question = "How appropriate is the response overall?"
anchors = {{ 1 = "not at all", 5 = "very" }}
'''


_FORMS: dict[str, Callable[[ReplyIndex, Rows, str], Response]] = {
    "csv": _csv_file,
    "jsonl": _jsonl_file,
    "zip": _project_file,
}
