"""Pages from templates: every text is escaped, and a name that a template does not know is an error."""

from __future__ import annotations

import functools
import math
import re
import time
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from rejoinder.files import sha256_of_bytes
from rejoinder.reports.chart import cell_text
from rejoinder.reports.page import format_exact, read_template

STATIC = {"annotate.css": "text/css", "annotate.js": "text/javascript", "icon.svg": "image/svg+xml"}
STATIC |= {"report.css": "text/css", "explore.css": "text/css", "try.js": "text/javascript"}

REPORT_PREFIX = "report/"  # before the name of a template of the reports


def render_html(name: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """A template as an answer."""
    return HTMLResponse(_make_environment().get_template(name).render(asset=_asset_url, **values), status)


def compile_templates() -> None:
    """Compile all templates, so that the first visitors do not wait for it."""
    for found in (files("rejoinder.server") / "html").iterdir():
        _make_environment().get_template(found.name)


def left_page(contact: str | None = None) -> Response:
    """What is shown to who has left; without a personal link, ``contact`` can make one. It has no style either."""
    way_back = "Your personal link still works." if contact is None else f"To come back, ask for a link: {contact}."
    return render_html(
        "bare.html", title="You have left", sentence=f"This browser does not know you any more. {way_back}"
    )


def not_found_page() -> Response:
    """What everybody gets who has no link, or asks for what is not there: the two cannot be told apart."""
    sentence = "If you have a personal link, please open it again."
    return render_html("bare.html", 404, title="There is nothing here", sentence=sentence)


def asset_response(name: str) -> Response | None:
    """One of the few files that pages use, by its exact name."""
    if name not in STATIC:
        return None
    return Response(_read_file("static", name), 200, {"Cache-Control": "private, max-age=86400"}, STATIC[name])


def _asset_url(name: str) -> str:
    """An address that changes with the file, so that nobody works with yesterday's."""
    return f"/static/{name}?{sha256_of_bytes(_read_file('static', name))[:12]}"


@functools.cache
def _read_file(folder: str, name: str) -> bytes:
    if name == "report.css":  # pages that show runs look as reports do
        return read_template("page.css").encode()
    if name.startswith(REPORT_PREFIX):
        return read_template(name.removeprefix(REPORT_PREFIX)).encode()
    return (files("rejoinder.server") / folder / name).read_bytes()


@functools.cache
def _make_environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(lambda name: _read_file("html", name).decode()),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "blocks": split_blocks,
        "head": column_head,
        "moment": format_moment,
        "seconds": format_seconds,
        "share": format_share,
    }
    environment.filters |= {
        "number": cell_text,
        "exact": format_exact,
        "count": lambda n: f"{n:,}",
        "size": format_size,
    }
    return environment


class TextBlock(NamedTuple):
    """A paragraph, or the points of a list."""

    is_list: bool
    texts: list[str]


def split_blocks(text: str) -> list[TextBlock]:
    """A plain text in parts, as empty lines divide it; one whose lines all begin with a hyphen is a list."""
    found = []
    for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = [line.strip() for line in part.split("\n") if line.strip()]
        is_list = all(line.startswith(("- ", "* ")) for line in lines)
        if lines:
            found.append(TextBlock(is_list, [line[2:] for line in lines] if is_list else [" ".join(lines)]))
    return found


def column_head(text: str) -> str:
    """The head of a column; a symbol stays as it is."""
    return text[:1].upper() + text[1:] if len(text) > 1 else text


def format_seconds(value: float | None) -> str:
    """A duration."""
    return "–" if value is None or math.isnan(value) else f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"


def format_share(part: int, whole: int) -> str:
    """A part of a whole, with both."""
    return "–" if not whole else f"{part} of {whole}"


def format_size(n: int) -> str:
    """A number of bytes."""
    return f"{n / 1e6:,.1f} MB" if n >= 1e6 else f"{n / 1e3:,.1f} kB"


def format_moment(value: float | None) -> str:
    """A time, in UTC."""
    return "–" if value is None else time.strftime("%Y-%m-%d %H:%M", time.gmtime(value)) + " UTC"
