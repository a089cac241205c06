"""The whole of ``rejoinder serve`` as one app: which path shows what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from rejoinder.server.api.app import Endpoint, api_paths, build_app
from rejoinder.server.api.json_schema import Schema
from rejoinder.server.api.limits import serving_limits
from rejoinder.server.api.openapi import PageDescription
from rejoinder.server.api.response_schemas import array_schema, mapping_schema
from rejoinder.server.limits import Limits
from rejoinder.server.login import log_in
from rejoinder.server.pages import models, people, reading, runs, sets, try_page
from rejoinder.server.pages.context import PageContext, View, page_endpoint
from rejoinder.server.pages.replies import ORDERS
from rejoinder.server.templates import asset_response, compile_templates, not_found_page

_WORD: Schema = {"type": "string", "maxLength": 300}
_NUMBER: Schema = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_PLACE: Schema = {"type": "integer", "minimum": 0, "maximum": 100_000_000}
_TEXT: Schema = {"type": "string"}
_ROWS: Schema = array_schema({"type": "object"})
_PAGED: dict[str, Schema] = {"page": _NUMBER, "pages": _NUMBER, "n": _PLACE}


class PageRoute(NamedTuple):
    """A page: its view, what it shows, the keys of its JSON, and the parameters of its query."""

    view: View
    about: str
    told: Mapping[str, Schema]
    query: Mapping[str, Schema] = {}


PAGES: dict[str, PageRoute] = {
    "/try": PageRoute(
        try_page.try_page,
        "The metrics that can be tried, and a conversation to begin with.",
        {"metrics": _ROWS, "context": array_schema({}), "reply": _TEXT, "references": array_schema(_TEXT)},
        {"run": _WORD, "reply": _PLACE},
    ),
    "/runs": PageRoute(runs.all_runs, "Every run.", {"runs": _ROWS, "folders": array_schema(_TEXT)}),
    "/runs/{run}": PageRoute(runs.one_run, "A run: leaderboards, or the accuracy of its systems.", {"tables": _ROWS}),
    "/runs/{run}/people": PageRoute(
        people.people,
        "How far each metric follows people, and one of them against the ratings.",
        {"table": {"type": ["object", "null"]}, "points": _ROWS},
        {"aspect": _WORD, "metric": _WORD},
    ),
    "/runs/{run}/replies": PageRoute(
        reading.replies,
        "The replies of a run, or those on which a metric and people disagree.",
        {"replies": _ROWS, **_PAGED},
        {
            "metric": _WORD,
            "aspect": _WORD,
            "system": _WORD,
            "only": {"type": "string", "enum": ["apart"]},
            "order": {"type": "string", "enum": list(ORDERS)},
            "page": _NUMBER,
        },
    ),
    "/runs/{run}/replies/{reply}": PageRoute(reading.reply, "One reply in its conversation.", {"replies": _ROWS}),
    "/runs/{run}/compare": PageRoute(
        reading.compare,
        "Two systems, reply by reply.",
        {"items": _ROWS, "difference": {"type": ["object", "null"]}, **_PAGED},
        {"first": _WORD, "second": _WORD, "metric": _WORD, "page": _NUMBER},
    ),
    "/sets": PageRoute(sets.all_sets, "Every test set.", {"sets": _ROWS, "folders": array_schema(_TEXT)}),
    "/sets/{set}": PageRoute(
        sets.one_set,
        "A test set and its questions.",
        {"list": _ROWS, "sources": mapping_schema(_PLACE), "labels": mapping_schema(_PLACE), **_PAGED},
        {"source": _WORD, "label": _WORD, "page": _NUMBER},
    ),
    "/sets/{set}/{question}": PageRoute(sets.question, "One question with its candidates.", {"candidates": _ROWS}),
    "/models": PageRoute(models.all_models, "Every model of the catalog.", {"models": _ROWS, "shipped": _ROWS}),
    "/models/{model}": PageRoute(models.one_model, "A model: its card and its files.", {"name": _TEXT}),
}


def describe_pages() -> dict[str, PageDescription]:
    """The pages as the description has them."""
    found = {}
    for path, one in PAGES.items():
        shape = {"type": "object", "properties": dict(one.told), "required": list(one.told)}
        found[path] = PageDescription(one.about, shape, one.query)
    return found


def _example_names(house: PageContext) -> dict[str, str]:
    """Something that can be looked at, of each kind that is here."""
    names = {"model": "aptness", "reply": "0", "question": "0"}
    scored = (one.name for one in house.library.runs().values() if one.kind == "scores")
    for kind, known in (("run", scored), ("set", iter(house.library.sets()))):
        if (name := next(known, None)) is not None:
            names[kind] = name
    return names


def make_explore_app(house: PageContext, limits: Limits | None = None) -> ASGIApp:
    """The app: the API, its pages, and the way in."""
    desk, gate = house.desk, house.gate
    paths: dict[str, dict[str, Endpoint]] = api_paths(desk, gate, describe_pages(), lambda: _example_names(house))
    for path, one in PAGES.items():
        shown = page_endpoint(house, one.view, one.query)
        paths[f"{path}.json"] = {"GET": shown}
        paths[path] = paths.get(path, {}) | {"GET": shown}
    paths["/models/{model}/get"] = {"POST": models.fetch_endpoint(house)}
    paths["/"] = {"GET": page_endpoint(house, try_page.try_page, {})}
    paths |= {"/r/{token}": {"GET": _enter(house)}, "/static/{name}": {"GET": _static(house)}}
    compile_templates()
    return build_app(paths, gate, limits or serving_limits(seconds=desk.load.seconds), desk.counters)


def _enter(house: PageContext) -> Endpoint:
    async def enter(request: Request) -> Response:
        token = str(request.path_params["token"])
        if not house.gate.is_token(token):
            return not_found_page()
        return log_in(request, "/try", house.gate.cookie, token, house.gate.secure)

    return enter


def _static(house: PageContext) -> Endpoint:
    async def static(request: Request) -> Response:
        found = asset_response(str(request.path_params["name"])) if house.gate.knows(request) else None
        return found or not_found_page()

    return static
