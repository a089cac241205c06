"""The pages of models: which are available, their licences and cards, and one click to fetch the others."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import RejoinderError, SpecError, nearest
from rejoinder.models.catalog import convert, fetch, manifest
from rejoinder.models.catalog.entries import MODELS, CatalogModel, Shipped
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.server.api.endpoint import FORGED, error_response, json_response, no_token_response, status_of
from rejoinder.server.pages.context import PageContent, PageContext, Query, wants_page
from rejoinder.server.site import read_form, redirect_to
from rejoinder.server.templates import not_found_page

README = "README.md"
_MAX_CARD = 200_000  # characters of a card


async def models_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the catalog, and the weights included in the package."""
    lines = [_model_line(context, model) for model in MODELS.values()]
    shipped = [
        {"name": folder.name, "bytes": sum(file.stat().st_size for file in folder.iterdir() if file.is_file())}
        for folder in _shipped_folders().values()
    ]
    return PageContent("models.html", {"models": lines, "shipped": shipped, "home": str(manifest.models_home())})


def _model_line(context: PageContext, model: CatalogModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "kind": model.kind,
        "purpose": model.purpose,
        "licence": manifest.find_licence(model),
        "bytes": model.size,
        "origin": str(model.origin),
        "citation": model.citation,
        "here": manifest.is_model_available(model),
        "fetching": context.fetching.get(model.name),
        "can_be_fetched": not isinstance(model.origin, Shipped),
    }


def _shipped_folders() -> dict[str, Path]:
    folders = (path for path in sorted(WEIGHTS.iterdir()) if path.is_dir() and not path.name.startswith("_"))
    return {path.name: path for path in folders}


async def model_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show a model: its card and its files."""
    name = request.path_params["model"]
    shipped = _shipped_folders()
    if name not in MODELS and name not in shipped:
        raise SpecError(f"no model is called {name!r}; {nearest(name, [*MODELS, *shipped])}")
    model = MODELS.get(name)
    folder = manifest.model_folder(model) if model else shipped[name]
    fetched = manifest.read_model_manifest(folder) if model and not isinstance(model.origin, Shipped) else None
    data: dict[str, Any] = {
        "name": name,
        "model": _model_line(context, model) if model else None,
        "card": _read_card(folder),
        "files": _list_files(folder) if folder.is_dir() else {},
        "trusted": list(fetched.trusted) if fetched else [],
    }
    return PageContent("model.html", data)


def _read_card(folder: Path) -> str | None:
    """Return the card in a model's folder, if it has one."""
    try:
        return (folder / README).read_text(encoding="utf-8", errors="replace")[:_MAX_CARD]
    except OSError:
        return None


def _list_files(folder: Path) -> dict[str, int]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}


def fetch_endpoint(context: PageContext) -> Any:
    """``POST /models/NAME/get``: fetch a model in a thread; the model's page shows the progress."""

    async def endpoint(request: Request) -> Response:
        as_page = wants_page(request)
        if not context.auth.knows(request):
            return not_found_page() if as_page else no_token_response()
        if context.auth.is_forged(request, await read_form(request, 20) if as_page else None):
            return error_response(403, FORGED)
        name = request.path_params["model"]
        if name not in MODELS:
            return (
                not_found_page()
                if as_page
                else error_response(404, f"no model is called {name!r}; {nearest(name, MODELS)}")
            )
        try:
            begin_fetch(context, MODELS[name])
        except RejoinderError as error:
            if not as_page:
                return error_response(status_of(error), str(error))
            context.fetching[name] = f"not fetched: {error}"
        return redirect_to(f"/models/{name}") if as_page else json_response(_model_line(context, MODELS[name]), 202)

    return endpoint


def begin_fetch(context: PageContext, model: CatalogModel) -> None:
    """Start to fetch a model, unless it is available or being fetched already."""
    if manifest.is_model_available(model) or context.fetching.get(model.name) == "being fetched":
        return
    if isinstance(model.origin, Shipped):
        raise RejoinderError(f"{model.name} is included in rejoinder but missing here; reinstall rejoinder")
    convert.check_libraries(model)
    context.fetching[model.name] = "being fetched"

    def work() -> None:
        try:
            fetch.fetch_model(model.name)
            context.fetching.pop(model.name, None)
        except RejoinderError as error:
            context.fetching[model.name] = f"not fetched: {error}"
        except Exception as error:  # whatever happens, the page must not say that it is still being fetched
            context.fetching[model.name] = f"not fetched: {type(error).__name__}: {error}"

    threading.Thread(target=work, name=f"fetch-{model.name}", daemon=True).start()
