"""The pages of models: which are available, their licences and cards, and one click to fetch the others.

Cards are Markdown. markdown-it-py, which rich brings along, turns them into HTML: it knows all of CommonMark and
tables, escapes HTML that a card contains, and drops links to scripts, which is much to get right by hand.
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import RejoinderError, SpecError, nearest
from rejoinder.models.catalog import manifest
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.entry import CatalogModel, Shipped
from rejoinder.models.download import convert, fetch
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.reports.chart import Markup
from rejoinder.server.api.endpoint import FORGED, error_response, json_response, no_token_response, status_of
from rejoinder.server.pages.context import PageContent, PageContext, Query, problem_response, wants_page
from rejoinder.server.site import read_form, redirect_to
from rejoinder.server.templates import not_found_page
from rejoinder.table import shorten_text

README = "README.md"
_MAX_CARD = 200_000  # characters of a card


_HEADING = re.compile(r"<(/?)h([1-6])>")
INCLUDED = "-included"  # after the name of weights in the package, where the catalog has another model of that name


async def models_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the catalog, and the weights included in the package."""
    lines = [_model_line(context, model) for model in MODELS.values()]
    shipped = [
        {"name": name, "bytes": sum(_list_files(folder).values()), "about": _card_opening(_read_card(folder))}
        for name, folder in _shipped_folders().items()
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
    """The weights in the package by name; one that the catalog gives to another model is marked."""
    folders = (path for path in sorted(WEIGHTS.iterdir()) if path.is_dir() and not path.name.startswith("_"))
    others = {name for name, model in MODELS.items() if not isinstance(model.origin, Shipped)}
    return {path.name + (INCLUDED if path.name in others else ""): path for path in folders}


async def model_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show a model: its card and its files."""
    name = request.path_params["model"]
    shipped = _shipped_folders()
    if name not in MODELS and name not in shipped:
        raise SpecError(f"no model is called {name!r}; {nearest(name, [*MODELS, *shipped])}")
    model = MODELS.get(name)
    folder = manifest.model_folder(model) if model else shipped[name]
    fetched = manifest.read_model_manifest(folder) if model and not isinstance(model.origin, Shipped) else None
    card = _read_card(folder)
    data: dict[str, Any] = {
        "name": name,
        "model": _model_line(context, model) if model else None,
        "card": card,
        "files": _list_files(folder) if folder.is_dir() else {},
        "trusted": list(fetched.trusted) if fetched else [],
        "namesake": name + INCLUDED if name + INCLUDED in shipped else name.removesuffix(INCLUDED),
    }
    return PageContent("model.html", data, {"card_html": render_card(card) if card else None})


def render_card(text: str) -> Markup:
    """Return a card as HTML; its headings are below the one of the page, and what is HTML in it is shown as text."""
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)  # the machine-readable head of a model hub
    html = _make_renderer().render(body)
    html = _HEADING.sub(lambda match: f"<{match[1]}h{min(6, int(match[2]) + 1)}>", html)
    # The page's policy forbids styles in tags: what is aligned to the right has a class.
    html = html.replace('style="text-align:right"', 'class="number"')
    html = re.sub(r' style="text-align:\w+"', "", html)
    html = re.sub(r"<th[^>]*></th>", "<td></td>", html)  # the corner of a table is not a heading
    numbers = itertools.count(1)
    box = '<div class="box" role="region" tabindex="0" aria-label="Table {}"><table>'
    html = re.sub("<table>", lambda _: box.format(next(numbers)), html)
    return Markup(html.replace("</table>", "</table></div>"))


@functools.cache
def _make_renderer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def _card_opening(card: str | None) -> str:
    """What a card says first, below its title."""
    for block in (card or "").split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith(("#", "|", "-", "<", "`"))]
        if lines:
            text = re.sub(r"\s*\([^()]*\)", "", " ".join(lines).replace("`", "").replace("*", ""))
            return shorten_text(text, 160)
    return ""


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
            return problem_response(context, as_page, 403, FORGED, "/models")
        name = request.path_params["model"]
        if name not in MODELS:
            sentence = f"no model is called {name!r}; {nearest(name, MODELS)}"
            return problem_response(context, as_page, 404, sentence, "/models")
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
