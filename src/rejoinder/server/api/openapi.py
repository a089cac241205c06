"""The description of the API (OpenAPI 3.1), made of the schemas that validate requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import rejoinder
from rejoinder.server.api.endpoint import JSON
from rejoinder.server.api.json_schema import REF, Schema
from rejoinder.server.api.prometheus import MEDIA
from rejoinder.server.api.request_schemas import PARTS
from rejoinder.server.api.response_schemas import ANSWERS, ERROR, EXAMPLES, HEALTH

VERBS = {
    "score": "Score replies with metrics. Requests that come at the same time are scored in one call.",
    "rank": "Put candidates in the order in which a system likes them, given a context and a situation.",
    "augment": "Give items more references.",
    "select": "Let systems choose among graded candidates, and rank them by how often they are right.",
    "try": "Score one reply with many metrics; one that is not installed says so and hinders no other.",
    "explain": "Say what each part of the context and each word of the reply does for a score.",
    "attack": "Score worse replies made by rule, and harmless rewritings, beside the reply itself.",
}
PROBLEMS = {
    "400": "The body is not JSON.",
    "401": "The token is missing or wrong.",
    "403": "A browser sent this without the mark of a page of ours.",
    "404": "No such metric, system or page.",
    "405": "The method is not one of this path's.",
    "408": "The body took too long to arrive.",
    "409": "This cannot be done as things stand: a model that is not here, references that are missing.",
    "413": "The body is too large.",
    "415": "The body is of another content type.",
    "422": "The body does not have the described shape.",
    "429": "The server has too much to do.",
    "503": "This is being prepared, or took too long; try again.",
    "504": "This took too long; send less at once.",
}
OF_VERBS = tuple(PROBLEMS)
OF_PAGES = ("401", "404", "405", "408", "409", "413", "429", "503")
FETCH = "/models/{model}/get"


class Page(NamedTuple):
    """A page that is also JSON: what it shows, the shape of it, and the parameters of its query."""

    about: str
    shape: Schema
    query: Mapping[str, Schema] = {}


def describe(
    requests: Mapping[str, Schema], pages: Mapping[str, Page], url: str, names: Mapping[str, str]
) -> dict[str, Any]:
    """The whole description; ``pages`` by their path, ``names`` are examples of what may stand in a path."""
    paths: dict[str, Any] = {f"/{name}": {"post": _verb(name, about)} for name, about in VERBS.items()}
    paths["/health"] = _read("Whether the server runs; needs no token.", _json(HEALTH), ("405", "429"), open_=True)
    paths["/metrics"] = _read("What the server has done, for Prometheus.", {MEDIA.partition(";")[0]: {}}, OF_PAGES)
    paths["/openapi.json"] = _read("This description.", _json({"type": "object"}), OF_PAGES)
    for path, page in pages.items():
        problems = (*OF_PAGES, "422") if page.query else OF_PAGES
        read = _read(page.about, _json(page.shape), problems, _parameters(path, page.query, names))
        paths[path] = paths.get(path, {}) | read
    paths[FETCH] = {"post": _fetch(names)}
    shared = {**PARTS, "Error": ERROR}
    shared |= {f"{name.capitalize()}Request": shape for name, shape in requests.items()}
    shared |= {f"{name.capitalize()}Answer": shape for name, shape in ANSWERS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rejoinder",
            "version": rejoinder.__version__,
            "description": "How good a chatbot's reply is. Null: a score that cannot be given. Errors: one sentence.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": url}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": shared,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _json(shape: Schema) -> dict[str, Any]:
    return {JSON: {"schema": shape}}


def _verb(name: str, about: str) -> dict[str, Any]:
    said = {"$ref": f"{REF}{name.capitalize()}Answer"}
    asked = {"$ref": f"{REF}{name.capitalize()}Request"}
    return {
        "operationId": name,
        "summary": about,
        "requestBody": {"required": True, "content": {JSON: {"schema": asked, "example": EXAMPLES[name]}}},
        "responses": {"200": {"description": "The answer.", "content": _json(said)}, **_problems(OF_VERBS)},
    }


def _fetch(names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "operationId": "fetch",
        "summary": "Begin to fetch a model; its page says how that stands.",
        "parameters": _parameters(FETCH, {}, names),
        "responses": {
            "202": {"description": "It is here, or being fetched.", "content": _json({"type": "object"})},
            **_problems((*OF_PAGES, "403")),
        },
    }


def _problems(statuses: tuple[str, ...]) -> dict[str, Any]:
    content = _json({"$ref": f"{REF}Error"})
    return {status: {"description": PROBLEMS[status], "content": content} for status in statuses}


def _read(
    about: str,
    content: dict[str, Any],
    problems: tuple[str, ...],
    parameters: list[dict[str, Any]] | None = None,
    open_: bool = False,
) -> dict[str, Any]:
    """What can be read; HEAD gives the same without a body."""
    said = {"summary": about, "responses": {"200": {"description": about, "content": content}, **_problems(problems)}}
    head = {"summary": about, "responses": {s: {"description": about} for s in ("200", *problems)}}
    extra: dict[str, Any] = {"security": []} if open_ else {}
    if parameters:
        extra["parameters"] = parameters
    return {"get": {**said, **extra}, "head": {**head, **extra}}


def _parameters(path: str, query: Mapping[str, Schema], names: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in (part.partition("}")[0] for part in path.split("{")[1:]):
        example = {"example": names[name]} if name in names else {}
        found.append({"name": name, "in": "path", "required": True, "schema": {"type": "string"}, **example})
    return found + [{"name": name, "in": "query", "schema": schema} for name, schema in query.items()]
