"""The HTML report of a run: one self-contained file that is the same, byte for byte, for the same run.

Every text that comes from data is escaped by the template engine. In case that ever fails, a content security policy
allows only the page's own style and script, by their digests.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import rejoinder
from rejoinder.escape import replace_control_characters
from rejoinder.model_use import ModelUse, describe_restrictions
from rejoinder.reports.chart import Markup
from rejoinder.reports.examples import select_examples
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.missing import count_flags, matched_table, missing_table
from rejoinder.reports.people import aspect_sections
from rejoinder.reports.reply_table import make_reply_table
from rejoinder.reports.summary import (
    describe_inputs,
    describe_ratings,
    describe_records,
    describe_run,
    repeat_commands,
    verdict_sentences,
)
from rejoinder.reports.verdict import decide_verdict
from rejoinder.table import format_cell

if TYPE_CHECKING:
    from jinja2 import Environment

GENERATOR = f"rejoinder {rejoinder.__version__}"


def render_run_page(findings: RunFindings) -> str:
    """The report page of a run."""
    style, script = (Markup(read_template(name)) for name in ("page.css", "page.js"))
    return (
        make_environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {csp_hash(style)}; script-src {csp_hash(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            title=describe_inputs(findings),
            about=findings.about,
            restrictions=describe_restrictions(findings.about["metrics"]),
            systems=findings.scores.systems,
            records=describe_records(findings),
            lead=describe_run(findings),
            verdict=decide_verdict(findings),
            sentences=verdict_sentences(findings),
            ratings=describe_ratings(findings),
            overview=findings.scores.table(),
            boards=list_leaderboards(findings),
            aspects=aspect_sections(findings),
            galleries=select_examples(findings),
            replies=make_reply_table(findings),
            matched=matched_table(findings),
            missing=missing_table(findings),
            flags=count_flags(findings),
            commands=repeat_commands(findings),
            seed=findings.seed,
        )
    )


@functools.cache
def make_environment() -> Environment:
    """The template environment with its filters; all text is escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(read_template),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalise_template_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = format_cell
    environment.filters["exact"] = format_exact_score
    environment.filters["count"] = lambda n: f"{n:,}"
    environment.filters["model_use"] = lambda use: str(ModelUse.from_json(use))
    return environment


def read_template(name: str) -> str:
    """The text of a template file."""
    return (files("rejoinder.reports") / "templates" / name).read_text(encoding="utf-8")


def _finalise_template_value(value: Any) -> Any:
    """What a template prints: plain text with control characters made visible, anything else unchanged."""
    return replace_control_characters(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def format_exact_score(score: float) -> str:
    """One reply's score: as in a table, but a small score is not rounded to 0."""
    return f"{score:.1e}" if 0 < abs(score) < 0.0005 else format_cell(score)


def csp_hash(text: str) -> str:
    """The digest of a style or a script in the form that a content security policy needs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
