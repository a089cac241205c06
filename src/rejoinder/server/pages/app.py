"""All of ``rejoinder serve`` as one app: which path shows what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from rejoinder.json_schema import Schema
from rejoinder.server.api.app import Endpoint, api_paths, build_app
from rejoinder.server.api.limits import serving_limits
from rejoinder.server.api.openapi import FETCH_PATH, PageDescription
from rejoinder.server.api.schemas import array_of, mapping_of
from rejoinder.server.limits import ServerLimits
from rejoinder.server.login import log_in
from rejoinder.server.pages import (
    distributions,
    item,
    items,
    models,
    people,
    questions,
    replies,
    reply_filter,
    run_pairs,
    runs,
    sets,
    systems,
    try_page,
)
from rejoinder.server.pages.context import PageContext, View, page_endpoint
from rejoinder.server.pages.downloads import download_endpoint
from rejoinder.server.templates import asset_response, compile_templates, not_found_page

_WORD: Schema = {"type": "string", "maxLength": 300}
_NUMBER: Schema = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
_PLACE: Schema = {"type": "integer", "minimum": 0, "maximum": 100_000_000}
_TEXT: Schema = {"type": "string"}
_ROWS: Schema = array_of({"type": "object"})
_PAGED: dict[str, Schema] = {"page": _NUMBER, "pages": _NUMBER, "n": _PLACE}
_QUESTIONS: dict[str, Schema] = {
    "q": _WORD,
    "system": _WORD,
    "outcome": {"type": "string", "enum": list(questions.OUTCOMES)},
    "only": {"type": "string", "enum": list(questions.AGREEMENTS)},
    "input": _WORD,
}


class PageRoute(NamedTuple):
    """A page: its view, what it shows, the keys of its JSON, and its query parameters."""

    view: View
    about: str
    properties: Mapping[str, Schema]
    query: Mapping[str, Schema] = {}


PAGES: dict[str, PageRoute] = {
    "/try": PageRoute(
        try_page.try_page,
        "The metrics that can be tried, and a conversation to start with.",
        {"metrics": _ROWS, "context": array_of({}), "reply": _TEXT, "references": array_of(_TEXT)},
        {"run": _WORD, "reply": _PLACE},
    ),
    "/runs": PageRoute(runs.runs_page, "Every run.", {"runs": _ROWS, "folders": array_of(_TEXT)}),
    "/compare": PageRoute(
        run_pairs.run_pair_page,
        "Two runs compared: what got worse and better, by system and by item.",
        {"runs": array_of(_TEXT), "items": _ROWS, "sentences": array_of(_TEXT)},
        {
            "old": _WORD,
            "new": _WORD,
            "metric": _WORD,
            "system": _WORD,
            "only": {"type": "string", "enum": list(run_pairs.CHANGES)},
            "q": _WORD,
            "page": _NUMBER,
        },
    ),
    "/runs/{run}": PageRoute(
        runs.run_page,
        "A run: leaderboards, or the accuracy of its systems.",
        {"tables": _ROWS},
        {"input": _WORD},
    ),
    "/runs/{run}/people": PageRoute(
        people.people_page,
        "How closely each metric follows people, and one metric against the ratings.",
        {"table": {"type": ["object", "null"]}, "points": _ROWS},
        {"aspect": _WORD, "metric": _WORD},
    ),
    "/runs/{run}/replies": PageRoute(
        replies.replies_page,
        "The replies of a run: searched, filtered, sorted.",
        {"replies": _ROWS, "columns": array_of(_TEXT), **_PAGED},
        {**reply_filter.QUERY, "page": _NUMBER},
    ),
    "/runs/{run}/replies/{reply}": PageRoute(
        replies.reply_page,
        "One reply in its conversation, and its neighbours in the list.",
        {"replies": _ROWS, "position": {"type": "object"}},
        reply_filter.QUERY,
    ),
    "/runs/{run}/distributions": PageRoute(
        distributions.distributions_page,
        "How scores and ratings are distributed, by system.",
        {"matrix": {"type": "object"}, "n": _PLACE},
        reply_filter.QUERY,
    ),
    "/runs/{run}/items": PageRoute(
        items.items_page,
        "The items of a run with every system's score.",
        {"items": _ROWS, **_PAGED},
        {**items.QUERY, "page": _NUMBER},
    ),
    "/runs/{run}/items/{item}": PageRoute(
        item.item_page,
        "All replies to one item, side by side, and its neighbours in the list.",
        {"replies": _ROWS, "diff": _ROWS, "position": {"type": "object"}},
        item.QUERY,
    ),
    "/runs/{run}/compare": PageRoute(
        systems.compare_page,
        "Two systems, reply by reply.",
        {"items": _ROWS, "difference": {"type": ["object", "null"]}, **_PAGED},
        {**systems.QUERY, "page": _NUMBER},
    ),
    "/runs/{run}/questions": PageRoute(
        questions.questions_page,
        "The questions of a selection or ranking run, and who chose what.",
        {"list": _ROWS, **_PAGED},
        {**_QUESTIONS, "page": _NUMBER},
    ),
    "/runs/{run}/questions/{question}": PageRoute(
        questions.run_question_page,
        "One question of a selection or ranking run.",
        {"candidates": _ROWS, "position": {"type": "object"}},
        _QUESTIONS,
    ),
    "/sets": PageRoute(sets.sets_page, "Every test set.", {"sets": _ROWS, "folders": array_of(_TEXT)}),
    "/sets/{set}": PageRoute(
        sets.set_page,
        "A test set and its questions.",
        {"list": _ROWS, "sources": mapping_of(_PLACE), "labels": mapping_of(_PLACE), **_PAGED},
        {**sets.QUERY, "page": _NUMBER},
    ),
    "/sets/{set}/{question}": PageRoute(
        sets.question_page,
        "One question with its candidates, and its neighbours in the list.",
        {"candidates": _ROWS, "position": {"type": "object"}},
        sets.QUERY,
    ),
    "/models": PageRoute(models.models_page, "Every model of the catalog.", {"models": _ROWS, "shipped": _ROWS}),
    "/models/{model}": PageRoute(models.model_page, "A model: its card and its files.", {"name": _TEXT}),
}


def describe_pages() -> dict[str, PageDescription]:
    """Return the pages for the API description."""
    pages = {}
    for path, page in PAGES.items():
        shape = {"type": "object", "properties": dict(page.properties), "required": list(page.properties)}
        pages[path] = PageDescription(page.about, shape, page.query)
    return pages


def _example_names(context: PageContext) -> dict[str, str]:
    """Return one example of each kind of page that exists."""
    names = {"model": "aptness", "reply": "0", "item": "0", "question": "0"}
    scored_runs = (run.name for run in context.library.runs().values() if run.kind == "scores")
    for kind, options in (("run", scored_runs), ("set", iter(context.library.sets()))):
        if (name := next(options, None)) is not None:
            names[kind] = name
    return names


def make_explore_app(context: PageContext, limits: ServerLimits | None = None) -> ASGIApp:
    """Return the app: the API, the pages, and the login."""
    service, auth = context.service, context.auth
    paths: dict[str, dict[str, Endpoint]] = api_paths(service, auth, describe_pages(), lambda: _example_names(context))
    for path, page in PAGES.items():
        endpoint = page_endpoint(context, page.view, page.query)
        paths[f"{path}.json"] = {"GET": endpoint}
        paths[path] = paths.get(path, {}) | {"GET": endpoint}
    for form in ("csv", "jsonl", "zip"):
        paths[f"/runs/{{run}}/replies.{form}"] = {"GET": download_endpoint(context, form)}
    paths[FETCH_PATH] = {"POST": models.fetch_endpoint(context)}
    paths["/"] = {"GET": page_endpoint(context, try_page.try_page, {})}
    paths |= {"/r/{token}": {"GET": _login_endpoint(context)}, "/static/{name}": {"GET": _static_endpoint(context)}}
    compile_templates()
    return build_app(paths, auth, limits or serving_limits(seconds=service.load.seconds), service.counters)


def _login_endpoint(context: PageContext) -> Endpoint:
    async def enter(request: Request) -> Response:
        token = str(request.path_params["token"])
        if not context.auth.is_token(token):
            return not_found_page()
        return log_in(request, "/try", context.auth.cookie, token, context.auth.secure)

    return enter


def _static_endpoint(context: PageContext) -> Endpoint:
    async def static(request: Request) -> Response:
        response = asset_response(str(request.path_params["name"])) if context.auth.knows(request) else None
        return response or not_found_page()

    return static
