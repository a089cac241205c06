"""A report in any format, and where it is written."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rejoinder.errors import RunError
from rejoinder.files import atomic_write
from rejoinder.reports.findings import compute_findings
from rejoinder.reports.missing import matched_table
from rejoinder.reports.page import render_run_page
from rejoinder.selection.folder import is_selection_run as is_selection
from rejoinder.table import join_tables

_MARK = b'<meta name="generator" content="rejoinder '


REPORT_ENDINGS = {
    "html": ".html", "text": ".txt", "markdown": ".md", "latex": ".tex", "csv": ".csv", "json": ".json"
}  # fmt: skip


def report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    form: Literal["html", "text", "markdown", "latex", "csv", "json"] | None = None,
    aspect: str | None = None,
    seed: int = 0,
    by: str | None = None,
) -> str:
    """The report of a finished run of ``score`` or ``select``: one self-contained page, or its tables.

    - ``run``: the run folder.
    - ``output``: also write the report to this file, outside the run folder.
    - ``form``: ``html`` is the whole page, the others are its tables; by default, the ending of ``output`` decides.
    - ``aspect``: only this aspect of the ratings.
    - ``seed``: the seed of the resamples.
    - ``by``: also means per slice of the replies, e.g. by ``meta.topic`` or ``turns``.

    >>> import rejoinder
    >>> page = rejoinder.report("RUN", "report.html")
    >>> "attentive" in page
    True
    """
    folder = Path(run)
    text = render_report(folder, form or choose_form(output), aspect, seed, by)
    if output is not None:
        save_report(text, Path(output), folder)
    return text


def choose_form(output: str | Path | None) -> str:
    """The format that a file's ending stands for; the whole page for any other ending."""
    ending = Path(output).suffix.lower() if output is not None else ""
    return next((form for form, known in REPORT_ENDINGS.items() if ending == known), "html")


def render_report(run: Path, form: str, aspect: str | None = None, seed: int = 0, by: str | None = None) -> str:
    """The report of a run: ``html`` is the whole page, every other format its tables one after another.

    A run of ``rejoinder select`` has no ratings, so there is no aspect to choose, and it is not cut into slices.
    """
    if is_selection(run):
        if by is not None:
            raise RunError(f"{run}: is a run of rejoinder select, which has no slices; leave out --by")
        return _render_selection(run, form, aspect, seed)
    findings = compute_findings(run, aspect, seed, by)
    if form == "html":
        return render_run_page(findings)
    matched = matched_table(findings)
    return join_tables([*findings.tables(), *([matched] if matched else [])], form).rstrip("\n") + "\n"


def _render_selection(run: Path, form: str, aspect: str | None, seed: int) -> str:
    from rejoinder.reports import selection, selection_page
    from rejoinder.selection.evaluate import evaluate_selection
    from rejoinder.selection.select import load_selection

    if aspect is not None:
        raise RunError(f"{run}: is a run of rejoinder select, which has no ratings; do not give an aspect")
    selection_run = load_selection(run)
    evaluation = evaluate_selection(selection_run.selected, seed=seed)
    if form == "html":
        return selection_page.render_selection_page(evaluation, selection_run.about, selection_run.folder)
    return join_tables(selection.selection_tables(evaluation), form).rstrip("\n") + "\n"


def default_report_file(run: Path) -> Path:
    """``RUN.html`` next to the run folder, which never changes; a file there that is not a report is not replaced."""
    folder = run if run.name not in ("", "..") else run.resolve()
    file = folder.with_name(folder.name + ".html")
    if file.is_file() and _MARK not in file.read_bytes()[:4096]:
        raise RunError(f"{file}: already exists and is not a rejoinder report; choose another file with -o")
    return file


def save_report(text: str, file: Path, run: Path) -> None:
    """Write a report to a file outside its run folder."""
    if run.resolve() in file.resolve().parents:
        raise RunError(f"{file}: is in the run folder, which never changes; choose a file outside it")
    if not file.parent.is_dir():
        raise RunError(f"{file}: cannot be written (there is no folder {file.parent}); choose another file")
    with atomic_write(file) as out:
        out.write(text.encode())
