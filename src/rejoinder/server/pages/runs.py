"""The pages of runs: the list, and for each run its leaderboards, or the accuracy of its systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request

from rejoinder.errors import RejoinderError
from rejoinder.reports import summary
from rejoinder.reports.findings import RunFindings, compute_findings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.missing import count_flags, missing_table
from rejoinder.reports.selection import selection_tables
from rejoinder.scoring.folder import read_run_about
from rejoinder.selection import select
from rejoinder.selection.evaluate import SelectionEvaluation, evaluate_selection
from rejoinder.selection.folder import read_selection_about as read_selection
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.library import RunEntry


async def runs_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List every run, the latest first."""
    runs = sorted(context.library.runs().values(), key=lambda run: -run.changed)
    folders = [str(folder) for folder in context.library.folders]
    return PageContent("runs.html", {"runs": [_run_line(run) for run in runs], "folders": folders})


def _run_line(run: RunEntry) -> dict[str, Any]:
    """Summarise a run; one that cannot be read says why."""
    line: dict[str, Any] = {"name": run.name, "kind": run.kind, "inputs": [], "systems": [], "metrics": []}
    line |= {"rows": 0, "begun": None, "problem": None}
    try:
        if run.kind == "selection":
            about = read_selection(run.path)
            systems = [system["system"] for system in about["systems"]]
            return line | {"inputs": [about["input"]["name"]], "systems": systems, "rows": about["questions"]}
        about = read_run_about(run.path)
        return line | {
            "inputs": [entry["name"] for entry in about["inputs"]],
            "systems": list(about["systems"]),
            "metrics": [metric["spec"] for metric in about["metrics"]],
            "rows": sum(about["systems"].values()),
            "begun": _start_time(run.path),
        }
    except RejoinderError as error:
        return line | {"problem": str(error)}
    except (KeyError, TypeError, AttributeError):
        return line | {"problem": f"{run.path.name}: is not a valid run folder"}


def _start_time(path: Path) -> str | None:
    try:
        timings = orjson.loads((path / "timings.json").read_bytes())
        return str(timings["begun"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


async def load_findings(context: PageContext, name: str) -> RunFindings:
    """Return everything known about a scored run, computed once."""
    run = context.library.run(name)
    if run.kind != "scores":
        raise RejoinderError(f"{name} is a selection run, which has no scores of replies")
    return await context.cache.get(("findings", run), lambda: compute_findings(run.path))


async def run_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show a run's leaderboards, or the tables of a selection."""
    run = context.library.run(request.path_params["run"])
    if run.kind == "selection":
        return await _selection_page(context, run)
    findings = await load_findings(context, run.name)
    data: dict[str, Any] = {
        "name": run.name,
        "kind": "scores",
        "title": summary.describe_inputs(findings),
        "lead": summary.describe_run(findings),
        "sentences": summary.verdict_sentences(findings),
        "ratings": summary.describe_ratings(findings),
        "systems": list(findings.scores.systems),
        "metrics": dict(findings.scores.metrics),
        "aspects": [trust.evidence.aspect for trust in findings.trusts],
        "tables": [table_object(table) for table in findings.tables()],
    }
    extra = {
        "boards": list_leaderboards(findings),
        "missing": missing_table(findings),
        "flags": count_flags(findings),
        "commands": summary.repeat_commands(findings),
    }
    return PageContent("run.html", data, extra)


async def _selection_page(context: PageContext, run: RunEntry) -> PageContent:
    def make() -> tuple[SelectionEvaluation, dict[str, Any]]:
        selection = select.load_selection(run.path)
        return evaluate_selection(selection.selected), selection.about

    evaluation, about = await context.cache.get(("selection", run), make)
    tables = selection_tables(evaluation)
    data = {
        "name": run.name,
        "kind": "selection",
        "title": about["input"]["name"],
        "systems": evaluation.selected.systems,
        "questions": len(evaluation.selected.questions),
        "signatures": dict(evaluation.selected.signatures),
        "tables": [table_object(table) for table in tables],
    }
    return PageContent("selection_run.html", data, {"selection_tables": tables})
