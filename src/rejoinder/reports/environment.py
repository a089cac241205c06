"""The templates of reports, and the environment that fills them in: filters, escapes, digests of styles and scripts."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import rejoinder
from rejoinder.escape import replace_control_characters
from rejoinder.model_use import ModelUse
from rejoinder.table import format_cell

if TYPE_CHECKING:
    from jinja2 import Environment

GENERATOR = f"rejoinder {rejoinder.__version__}"


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
