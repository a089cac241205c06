"""The API description (OpenAPI 3.1), written from the declarations of the verbs and of the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import rejoinder
from rejoinder.json_schema import REF, Schema
from rejoinder.server.api.endpoint import JSON, Verb
from rejoinder.server.api.prometheus import MEDIA_TYPE
from rejoinder.server.api.schemas import SHARED_SCHEMAS, STRING, object_of

ERROR: Schema = object_of(error={"type": "string", "minLength": 1})
HEALTH: Schema = object_of(status={"enum": ["ok"]}, version=STRING)
PROBLEMS = {
    "400": "The body is not valid JSON.",
    "401": "The token is missing or wrong.",
    "403": "A browser sent this without the mark of one of our pages.",
    "404": "No such metric, system or page.",
    "405": "The path does not support this method.",
    "408": "The body took too long to arrive.",
    "409": "This cannot be done in the current state: a model has not been fetched, or references are missing.",
    "413": "The body is too large.",
    "415": "The body has the wrong content type.",
    "422": "The body does not match the schema.",
    "429": "The server is busy.",
    "503": "This is being prepared, or took too long; try again.",
    "504": "This took too long; send less per request.",
}
VERB_PROBLEMS = tuple(PROBLEMS)
PAGE_PROBLEMS = ("401", "404", "405", "408", "409", "413", "429", "503")
FETCH_PATH = "/models/{model}/get"


class PageDescription(NamedTuple):
    """A page that is also JSON: what it shows, its schema, and its query parameters."""

    about: str
    shape: Schema
    query: Mapping[str, Schema] = {}


def describe_api(
    verbs: Mapping[str, Verb],
    requests: Mapping[str, Schema],
    pages: Mapping[str, PageDescription],
    url: str,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return the whole description; ``pages`` are by path, ``names`` are examples of the parameters in a path."""
    paths: dict[str, Any] = {f"/{name}": {"post": _describe_verb(verb)} for name, verb in verbs.items()}
    paths["/health"] = _describe_get(
        "Whether the server runs; needs no token.", _json_content(HEALTH), ("405", "429"), open_=True
    )
    paths["/metrics"] = _describe_get(
        "What the server has done, for Prometheus.", {MEDIA_TYPE.partition(";")[0]: {}}, PAGE_PROBLEMS
    )
    paths["/openapi.json"] = _describe_get("This description.", _json_content({"type": "object"}), PAGE_PROBLEMS)
    for path, page in pages.items():
        problems = (*PAGE_PROBLEMS, "422") if page.query else PAGE_PROBLEMS
        operations = _describe_get(
            page.about, _json_content(page.shape), problems, _describe_parameters(path, page.query, names)
        )
        paths[path] = paths.get(path, {}) | operations
    paths[FETCH_PATH] = {"post": _describe_fetch(names)}
    shared = {**SHARED_SCHEMAS, "Error": ERROR}
    shared |= {f"{name.capitalize()}Request": shape for name, shape in requests.items()}
    shared |= {f"{name.capitalize()}Answer": verb.answer for name, verb in verbs.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "rejoinder",
            "version": rejoinder.__version__,
            "description": "How good a chatbot's reply is. Null: no score. Errors: one sentence.",
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


def _json_content(shape: Schema) -> dict[str, Any]:
    return {JSON: {"schema": shape}}


def _describe_verb(verb: Verb) -> dict[str, Any]:
    answer = {"$ref": f"{REF}{verb.name.capitalize()}Answer"}
    request = {"$ref": f"{REF}{verb.name.capitalize()}Request"}
    return {
        "operationId": verb.name,
        "summary": verb.respond.__doc__,
        "requestBody": {"required": True, "content": {JSON: {"schema": request, "example": verb.example}}},
        "responses": {
            "200": {"description": "The answer.", "content": _json_content(answer)},
            **_describe_problems(VERB_PROBLEMS),
        },
    }


def _describe_fetch(names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "operationId": "fetch",
        "summary": "Start to fetch a model; its page shows the progress.",
        "parameters": _describe_parameters(FETCH_PATH, {}, names),
        "responses": {
            "202": {
                "description": "It is available, or being fetched.",
                "content": _json_content({"type": "object"}),
            },
            **_describe_problems((*PAGE_PROBLEMS, "403")),
        },
    }


def _describe_problems(statuses: tuple[str, ...]) -> dict[str, Any]:
    content = _json_content({"$ref": f"{REF}Error"})
    return {status: {"description": PROBLEMS[status], "content": content} for status in statuses}


def _describe_get(
    about: str,
    content: dict[str, Any],
    problems: tuple[str, ...],
    parameters: list[dict[str, Any]] | None = None,
    open_: bool = False,
) -> dict[str, Any]:
    """Describe a path that can be read; HEAD is the same without a body."""
    get = {
        "summary": about,
        "responses": {"200": {"description": about, "content": content}, **_describe_problems(problems)},
    }
    head = {"summary": about, "responses": {s: {"description": about} for s in ("200", *problems)}}
    extra: dict[str, Any] = {"security": []} if open_ else {}
    if parameters:
        extra["parameters"] = parameters
    return {"get": {**get, **extra}, "head": {**head, **extra}}


def _describe_parameters(path: str, query: Mapping[str, Schema], names: Mapping[str, str]) -> list[dict[str, Any]]:
    parameters: list[dict[str, Any]] = []
    for name in (part.partition("}")[0] for part in path.split("{")[1:]):
        example = {"example": names[name]} if name in names else {}
        parameters.append({"name": name, "in": "path", "required": True, "schema": {"type": "string"}, **example})
    return parameters + [{"name": name, "in": "query", "schema": schema} for name, schema in query.items()]
