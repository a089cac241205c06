"""The pages of models: what is here, under which licence, its card, and one click to fetch what is not."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import RejoinderError, SpecError, nearest
from rejoinder.models.catalog import convert, fetch, manifest
from rejoinder.models.catalog.entries import MODELS, Model, Shipped
from rejoinder.server.api.endpoint import FORGED, answer, refusal, status_of, unknown
from rejoinder.server.pages.context import House, Query, Shown, wants_page
from rejoinder.server.site import form_of, go
from rejoinder.server.templates import nothing_here

README = "README.md"
_MOST = 200_000  # characters of a card


async def all_models(house: House, request: Request, query: Query) -> Shown:
    """The catalog, and the weights that come with the package beside it."""
    lines = [_line(house, model) for model in MODELS.values()]
    shipped = [
        {"name": folder.name, "bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file())}
        for folder in _shipped().values()
    ]
    return Shown("models.html", {"models": lines, "shipped": shipped, "home": str(manifest.home())})


def _line(house: House, model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "purpose": model.purpose,
        "licence": model.licence,
        "bytes": model.size,
        "origin": str(model.origin),
        "citation": model.citation,
        "here": manifest.is_here(model),
        "fetching": house.fetching.get(model.name),
        "can_be_fetched": not isinstance(model.origin, Shipped),
    }


def _shipped() -> dict[str, Path]:
    folders = (path for path in sorted(manifest.WEIGHTS.iterdir()) if path.is_dir() and not path.name.startswith("_"))
    return {path.name: path for path in folders}


async def one_model(house: House, request: Request, query: Query) -> Shown:
    """A model: its card and its files."""
    name = request.path_params["model"]
    shipped = _shipped()
    if name not in MODELS and name not in shipped:
        raise SpecError(f"no model is called {name!r}; {nearest(name, [*MODELS, *shipped])}")
    known = MODELS.get(name)
    folder = manifest.folder_of(known) if known else shipped[name]
    whole = manifest.read(folder) if known and not isinstance(known.origin, Shipped) else None
    told: dict[str, Any] = {
        "name": name,
        "model": _line(house, known) if known else None,
        "card": _card(folder),
        "files": _files(folder) if folder.is_dir() else {},
        "trusted": list(whole.trusted) if whole else [],
    }
    return Shown("model.html", told)


def _card(folder: Path) -> str | None:
    """The card of a model's folder, where it has one."""
    try:
        return (folder / README).read_text(encoding="utf-8", errors="replace")[:_MOST]
    except OSError:
        return None


def _files(folder: Path) -> dict[str, int]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in found}


def fetch_endpoint(house: House) -> Any:
    """``POST /models/NAME/get``: fetch a model, in a thread of its own; the model's page says how that stands."""

    async def endpoint(request: Request) -> Response:
        as_page = wants_page(request)
        if not house.gate.knows(request):
            return nothing_here() if as_page else unknown()
        if house.gate.is_forged(request, await form_of(request, 20) if as_page else None):
            return refusal(403, FORGED)
        name = request.path_params["model"]
        if name not in MODELS:
            return nothing_here() if as_page else refusal(404, f"no model is called {name!r}; {nearest(name, MODELS)}")
        try:
            begin(house, MODELS[name])
        except RejoinderError as error:
            if not as_page:
                return refusal(status_of(error), str(error))
            house.fetching[name] = f"not fetched: {error}"
        return go(f"/models/{name}") if as_page else answer(_line(house, MODELS[name]), 202)

    return endpoint


def begin(house: House, model: Model) -> None:
    """Begin to fetch a model that is not here; one that is being fetched already is left to it."""
    if manifest.is_here(model) or house.fetching.get(model.name) == "being fetched":
        return
    if isinstance(model.origin, Shipped):
        raise RejoinderError(f"{model.name} comes with rejoinder: install rejoinder again")
    convert.check(model)
    house.fetching[model.name] = "being fetched"

    def work() -> None:
        try:
            fetch.get(model.name)
            house.fetching.pop(model.name, None)
        except RejoinderError as error:
            house.fetching[model.name] = f"not fetched: {error}"
        except Exception as error:  # whatever happened, the page must not say that it goes on
            house.fetching[model.name] = f"not fetched: {type(error).__name__}: {error}"

    threading.Thread(target=work, name=f"fetch-{model.name}", daemon=True).start()
