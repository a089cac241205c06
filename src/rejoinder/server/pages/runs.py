"""The pages of runs: what there is, and of each its leaderboards, or the accuracy of its systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request

from rejoinder.errors import RejoinderError
from rejoinder.reports import summary
from rejoinder.reports.findings import Findings, compute_findings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.missing import count_flags, missing_table
from rejoinder.reports.selection import selection_tables
from rejoinder.scoring.folder import read_about
from rejoinder.selection import select
from rejoinder.selection.evaluate import SelectionEvaluation, evaluate_selection
from rejoinder.selection.folder import read_about as read_selection
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.library import RunEntry


async def all_runs(house: PageContext, request: Request, query: Query) -> PageContent:
    """Every run, the latest first."""
    found = sorted(house.library.runs().values(), key=lambda one: -one.changed)
    folders = [str(folder) for folder in house.library.folders]
    return PageContent("runs.html", {"runs": [_run_line(one) for one in found], "folders": folders})


def _run_line(one: RunEntry) -> dict[str, Any]:
    """A run in a line; one that cannot be read says why."""
    told: dict[str, Any] = {"name": one.name, "kind": one.kind, "inputs": [], "systems": [], "metrics": []}
    told |= {"rows": 0, "begun": None, "problem": None}
    try:
        if one.kind == "selection":
            about = read_selection(one.path)
            systems = [system["system"] for system in about["systems"]]
            return told | {"inputs": [about["input"]["name"]], "systems": systems, "rows": about["questions"]}
        about = read_about(one.path)
        return told | {
            "inputs": [given["name"] for given in about["inputs"]],
            "systems": list(about["systems"]),
            "metrics": [metric["spec"] for metric in about["metrics"]],
            "rows": sum(about["systems"].values()),
            "begun": _start_time(one.path),
        }
    except RejoinderError as error:
        return told | {"problem": str(error)}
    except (KeyError, TypeError, AttributeError):
        return told | {"problem": f"{one.path.name}: is not as a run should be"}


def _start_time(path: Path) -> str | None:
    try:
        told = orjson.loads((path / "timings.json").read_bytes())
        return str(told["begun"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


async def load_findings(house: PageContext, name: str) -> Findings:
    """All that is known of a scored run, computed once."""
    found = house.library.run(name)
    if found.kind != "scores":
        raise RejoinderError(f"{name} is a selection; it has no scores of replies")
    return await house.kept.get(("findings", found), lambda: compute_findings(found.path))


async def one_run(house: PageContext, request: Request, query: Query) -> PageContent:
    """A run's leaderboards; of a selection its tables."""
    found = house.library.run(request.path_params["run"])
    if found.kind == "selection":
        return await _selection_page(house, found)
    findings = await load_findings(house, found.name)
    told: dict[str, Any] = {
        "name": found.name,
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
    return PageContent("run.html", told, extra)


async def _selection_page(house: PageContext, found: RunEntry) -> PageContent:
    def make() -> tuple[SelectionEvaluation, dict[str, Any]]:
        run = select.load_selection(found.path)
        return evaluate_selection(run.selected), run.about

    examined, about = await house.kept.get(("selection", found), make)
    tables = selection_tables(examined)
    told = {
        "name": found.name,
        "kind": "selection",
        "title": about["input"]["name"],
        "systems": examined.selected.systems,
        "questions": len(examined.selected.questions),
        "signatures": dict(examined.selected.signatures),
        "tables": [table_object(table) for table in tables],
    }
    return PageContent("selection_run.html", told, {"shown": tables})
