"""The HTML report of a run: one file that stands alone and is the same, byte for byte, for the same run.

Every text that comes from data is escaped by the template engine; a content security policy that names the page's own
style and script by their digests keeps anything else from running should that ever fail.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rejoinder
from rejoinder.reports.chart import Markup, shown, visible
from rejoinder.reports.findings import Findings, find
from rejoinder.reports.gallery import galleries
from rejoinder.reports.leaderboard import boards
from rejoinder.reports.missing import matched_table, missing_table, raised_flags
from rejoinder.reports.people import aspects
from rejoinder.reports.summary import commands, lead, ratings, records, sentences, title

if TYPE_CHECKING:
    from jinja2 import Environment

GENERATOR = f"rejoinder {rejoinder.__version__}"


def report(run_folder: Path, aspect: str | None = None, seed: int = 0) -> str:
    """The HTML report of a finished run, on all aspects that people rated or on one."""
    return render(find(run_folder, aspect, seed))


def render(findings: Findings) -> str:
    """Findings as a page."""
    style, script = (Markup(template_text(name)) for name in ("page.css", "page.js"))
    return (
        environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            title=title(findings),
            about=findings.about,
            systems=findings.scores.systems,
            records=records(findings),
            lead=lead(findings),
            sentences=sentences(findings),
            ratings=ratings(findings),
            overview=findings.scores.table(),
            boards=boards(findings),
            aspects=aspects(findings),
            galleries=galleries(findings),
            matched=matched_table(findings),
            missing=missing_table(findings),
            flags=raised_flags(findings),
            commands=commands(findings),
            seed=findings.seed,
        )
    )


@functools.cache
def environment() -> Environment:
    """The templates, with what they may call; all text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(template_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = shown
    environment.filters["exact"] = exact
    environment.filters["count"] = lambda n: f"{n:,}"
    return environment


def template_text(name: str) -> str:
    """A file of the templates' folder."""
    return (files("rejoinder.reports") / "templates" / name).read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    """What a template puts out: a plain text with its control characters made visible, anything else as it is."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def exact(score: float) -> str:
    """One reply's score: as in a table, but a score that would look like 0 keeps its size."""
    return f"{score:.1e}" if 0 < abs(score) < 0.0005 else shown(score)


def digest(text: str) -> str:
    """The digest of a style or a script, as a content security policy wants it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
