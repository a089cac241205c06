"""Pages from templates: every text is escaped, and an undefined name in a template is an error."""

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
from rejoinder.reports.chart import Markup
from rejoinder.reports.environment import format_exact_score, read_template
from rejoinder.server.middleware import BARE_STYLE
from rejoinder.table import format_cell

STATIC = {"annotate.css": "text/css", "annotate.js": "text/javascript", "icon.svg": "image/svg+xml"}
STATIC |= {"report.css": "text/css", "explore.css": "text/css", "explore.js": "text/javascript"}
STATIC |= {"try.js": "text/javascript"}

BOTH = "rejoinder.both"  # in the scope of a request where runs and annotation share a server
_FOLD_CHARACTERS, _FOLD_LINES = 800, 12  # how much of a long text is shown at first
REPORT_PREFIX = "report/"  # prefix of templates that belong to the reports


def render_html(name: str, status: int = 200, /, **values: Any) -> HTMLResponse:
    """Render a template as a response."""
    return HTMLResponse(_make_environment().get_template(name).render(asset=_asset_url, **values), status)


def compile_templates() -> None:
    """Compile all templates, so that the first visitors do not wait for it."""
    for template in (files("rejoinder.server") / "html").iterdir():
        _make_environment().get_template(template.name)


def left_page(contact: str | None = None) -> Response:
    """Return the page after signing out; ``contact`` is for those who have no personal link. It has no style sheet."""
    way_back = "Your personal link still works." if contact is None else f"To return, ask for a link: {contact}."
    return render_html(
        "bare.html", title="You have signed out", sentence=f"This browser no longer has access. {way_back}"
    )


def not_found_page() -> Response:
    """Return the same page to visitors without a link and for paths that do not exist: the two look alike."""
    sentence = "If you have a personal link, please open it again."
    back = "If you have signed in here, go back to"
    return render_html("bare.html", 404, title="There is nothing here", sentence=sentence, back=back)


def ended_page(contact: str) -> Response:
    """Return the page for a link that was revoked or has expired, with whom to ask."""
    ask = f"Please ask {contact} for a new one." if contact else "Please ask whoever gave it to you for a new one."
    sentence = f"It was revoked or has expired; the answers that you gave are stored. {ask}"
    return render_html("bare.html", 403, title="This link no longer works", sentence=sentence)


def asset_response(name: str) -> Response | None:
    """Return one of the few static files, by its exact name."""
    if name not in STATIC:
        return None
    return Response(_read_file("static", name), 200, {"Cache-Control": "private, max-age=86400"}, STATIC[name])


def _asset_url(name: str) -> str:
    """Return an address that changes with the file, so that browsers do not use an old copy."""
    return f"/static/{name}?{sha256_of_bytes(_read_file('static', name))[:12]}"


@functools.cache
def _read_file(folder: str, name: str) -> bytes:
    if name == "report.css":  # pages of runs look like reports
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
        "fold": fold_text,
        "flag": lambda name: name.replace("_", " ").replace("english", "English"),
        "head": column_head,
        "moment": format_moment,
        "seconds": format_seconds,
        "share": format_share,
    }
    environment.globals["bare_style"] = Markup(BARE_STYLE)
    environment.filters |= {
        "number": format_cell,
        "exact": format_exact_score,
        "count": lambda n: f"{n:,}",
        "size": format_size,
    }
    return environment


class TextBlock(NamedTuple):
    """A paragraph, or the items of a list."""

    is_list: bool
    texts: list[str]


def split_blocks(text: str) -> list[TextBlock]:
    """Split a plain text at empty lines; a part whose lines all start with a hyphen is a list."""
    blocks = []
    for part in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = [line.strip() for line in part.split("\n") if line.strip()]
        is_list = all(line.startswith(("- ", "* ")) for line in lines)
        if lines:
            blocks.append(TextBlock(is_list, [line[2:] for line in lines] if is_list else [" ".join(lines)]))
    return blocks


class FoldedText(NamedTuple):
    """The start of a text, and the rest that a page shows on demand; empty if the text is not long."""

    start: str
    rest: str


def fold_text(text: str) -> FoldedText:
    """Fold a long text, after a line or a word if possible; start and rest together are the whole text."""
    start = "".join(text[:_FOLD_CHARACTERS].splitlines(keepends=True)[:_FOLD_LINES])
    if len(start) == _FOLD_CHARACTERS and (word := re.match(r".*\s", start, re.DOTALL)):
        start = word[0] if len(word[0]) > _FOLD_CHARACTERS // 2 else start
    rest = text[len(start) :]
    return (
        FoldedText(start, rest) if len(rest) > _FOLD_CHARACTERS // 2 or rest.count("\n") > 5 else FoldedText(text, "")
    )


def column_head(text: str) -> str:
    """Return the heading of a column; a single symbol is left as it is."""
    return text[:1].upper() + text[1:] if len(text) > 1 else text


def format_seconds(value: float | None) -> str:
    """Format a duration: seconds, with a decimal if there are few of them; minutes and seconds from two minutes on."""
    if value is None or math.isnan(value):
        return "–"
    if value < 120:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    return f"{int(value) // 60} min {int(value) % 60:02d} s"


def format_share(part: int, whole: int) -> str:
    """Format a part of a whole, as "2 of 3"."""
    return "–" if not whole else f"{part} of {whole}"


def format_size(n: int) -> str:
    """Format a number of bytes."""
    return f"{n / 1e6:,.1f} MB" if n >= 1e6 else f"{n / 1e3:,.1f} kB"


def format_moment(value: float | None) -> str:
    """Format a time, in UTC."""
    return "–" if value is None else time.strftime("%Y-%m-%d %H:%M", time.gmtime(value)) + " UTC"
