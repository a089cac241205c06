"""The HTML report of a run: one file that stands alone and is the same, byte for byte, for the same run.

Every text that comes from data is escaped by the template engine; a content security policy that names the page's own
style and script by their digests keeps anything else from running should that ever fail.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import shlex
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rejoinder
from rejoinder.report.chart import Markup, shown, visible
from rejoinder.report.findings import Findings, find
from rejoinder.report.gallery import galleries
from rejoinder.report.leaderboard import boards
from rejoinder.report.missing import missing_table, raised_flags
from rejoinder.report.people import aspects
from rejoinder.verdict import advice

if TYPE_CHECKING:
    from jinja2 import Environment

GENERATOR = f"rejoinder {rejoinder.__version__}"
_MOST_INPUTS = 3
_MOST_OPEN = 2  # metrics under which nothing is sure, each with a sentence of its own
_KINDS = {
    "dialogue": "dialogues",
    "item": "items",
    "response": "replies",
    "question": "questions",
    "rating": "ratings",
    "preference": "preferences",
}


def report(run_folder: Path, aspect: str | None = None, seed: int = 0) -> str:
    """The HTML report of a finished run, on all aspects that people rated or on one."""
    return render(find(run_folder, aspect, seed))


def render(findings: Findings) -> str:
    """Findings as a page."""
    style, script = (Markup(_template_text(name)) for name in ("page.css", "page.js"))
    return (
        _environment()
        .get_template("page.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            title=_title(findings),
            about=findings.about,
            counts={_KINDS[kind]: n for kind, n in findings.about["counts"].items()},
            lead=_lead(findings),
            sentences=_sentences(findings),
            ratings=_ratings(findings),
            overview=findings.scores.table(),
            boards=boards(findings),
            aspects=aspects(findings),
            galleries=galleries(findings),
            missing=missing_table(findings),
            flags=raised_flags(findings),
            commands=_commands(findings),
            seed=findings.seed,
        )
    )


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_template_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = shown
    environment.filters["exact"] = _exact
    environment.filters["count"] = lambda n: f"{n:,}"
    return environment


def _template_text(name: str) -> str:
    return (files("rejoinder.report") / "templates" / name).read_text(encoding="utf-8")


def _finalize(value: Any) -> Any:
    """What a template puts out: a plain text with its control characters made visible, anything else as it is."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _exact(score: float) -> str:
    """One reply's score: as in a table, but a score that would look like 0 keeps its size."""
    return f"{score:.1e}" if 0 < abs(score) < 0.0005 else shown(score)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _title(findings: Findings) -> str:
    names = [one["name"] for one in findings.about["inputs"]]
    more = f" and {len(names) - _MOST_INPUTS} more" if len(names) > _MOST_INPUTS else ""
    return ", ".join(names[:_MOST_INPUTS]) + more


def _lead(findings: Findings) -> str:
    scores = findings.scores
    return (
        f"{_many(len(scores), 'reply', 'replies')} of {_many(len(scores.systems), 'system', 'systems')} to "
        f"{_many(len(set(scores.items)), 'item', 'items')} were scored with "
        f"{_many(len(scores.metrics), 'metric', 'metrics')}."
    )


def _many(n: int, one: str, several: str) -> str:
    return f"{n:,} {one if n == 1 else several}"


def _sentences(findings: Findings) -> list[str]:
    """The verdicts in plain words; what would be said again and again is said once."""
    told = [advice.sentence(found) for found in findings.trusts]
    if len(findings.scores.systems) == 1:
        return [f"There is one system ({findings.scores.systems[0]}), so there is nothing to compare it with.", *told]
    open_ = [one for one in findings.comparisons if one.differences and not any(d.survives for d in one.differences)]
    if len(open_) <= _MOST_OPEN:
        open_ = []
    said = [one.sentence() for one in findings.comparisons if one not in open_]
    if open_:
        said.append(f"{', '.join(one.metric for one in open_)}: no difference between systems survives correction.")
    return said + told


def _ratings(findings: Findings) -> str:
    """One line about the judgements in the data, empty where there are none."""
    given = [r for r in findings.data.ratings if r.response is not None]
    whole = len(findings.data.ratings) - len(given)
    told = []
    if given:
        raters, rated = len({r.rater for r in given}), len({r.response for r in given})
        named = ", ".join(dict.fromkeys(r.aspect for r in given))
        told.append(
            f"{_many(len(given), 'rating', 'ratings')} by {_many(raters, 'rater', 'raters')} of "
            f"{rated:,} of the {len(findings.scores):,} replies ({named})"
        )
    if whole:
        told.append(f"{_many(whole, 'rating', 'ratings')} of whole dialogues, which this page does not use")
    if findings.data.preferences:
        told.append(f"{_many(len(findings.data.preferences), 'preference', 'preferences')}, which it does not use")
    return "; ".join(told) + "." if told else ""


def _commands(findings: Findings) -> list[str]:
    """What to type to get this page again."""
    about: Mapping[str, Any] = findings.about
    score = ["rejoinder", "score"]
    score += ["-" if one["name"] == "<stdin>" else one["name"] for one in about["inputs"]]
    score += [word for spec in findings.scores.metrics for word in ("-m", spec)]
    score += ["--empty", "nan"] if about["empty"] == "nan" else []
    score += ["--matched"] if findings.scores.matched else []
    page = ["rejoinder", "report", "RUN"]
    page += ["--aspect", findings.aspect] if findings.aspect is not None else []
    page += ["--seed", str(findings.seed)] if findings.seed else []
    return [shlex.join([*score, "-o", "RUN"]), shlex.join(page)]
