"""The pages of runs: what there is, and of each its leaderboards, or the accuracy of its systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request

from rejoinder.errors import RejoinderError
from rejoinder.reports import summary
from rejoinder.reports.findings import Findings, find
from rejoinder.reports.leaderboard import boards
from rejoinder.reports.missing import missing_table, raised_flags
from rejoinder.reports.selection import tables as selection_tables
from rejoinder.scoring.folder import read_about
from rejoinder.selection import select
from rejoinder.selection.evaluate import Examined, examine
from rejoinder.selection.folder import read_about as read_selection
from rejoinder.server.pages.context import House, Query, Shown, table_object
from rejoinder.server.pages.library import Found


async def all_runs(house: House, request: Request, query: Query) -> Shown:
    """Every run, the latest first."""
    found = sorted(house.library.runs().values(), key=lambda one: -one.changed)
    folders = [str(folder) for folder in house.library.folders]
    return Shown("runs.html", {"runs": [_line(one) for one in found], "folders": folders})


def _line(one: Found) -> dict[str, Any]:
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
            "begun": _begun(one.path),
        }
    except RejoinderError as error:
        return told | {"problem": str(error)}
    except (KeyError, TypeError, AttributeError):
        return told | {"problem": f"{one.path.name}: is not as a run should be"}


def _begun(path: Path) -> str | None:
    try:
        told = orjson.loads((path / "timings.json").read_bytes())
        return str(told["begun"])
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


async def findings_of(house: House, name: str) -> Findings:
    """All that is known of a scored run, computed once."""
    found = house.library.run(name)
    if found.kind != "scores":
        raise RejoinderError(f"{name} is a selection; it has no scores of replies")
    return await house.kept.get(("findings", found), lambda: find(found.path))


async def one_run(house: House, request: Request, query: Query) -> Shown:
    """A run's leaderboards; of a selection its tables."""
    found = house.library.run(request.path_params["run"])
    if found.kind == "selection":
        return await _selection(house, found)
    findings = await findings_of(house, found.name)
    told: dict[str, Any] = {
        "name": found.name,
        "kind": "scores",
        "title": summary.title(findings),
        "lead": summary.lead(findings),
        "sentences": summary.sentences(findings),
        "ratings": summary.ratings(findings),
        "systems": list(findings.scores.systems),
        "metrics": dict(findings.scores.metrics),
        "aspects": [trust.evidence.aspect for trust in findings.trusts],
        "tables": [table_object(table) for table in findings.tables()],
    }
    extra = {
        "boards": boards(findings),
        "missing": missing_table(findings),
        "flags": raised_flags(findings),
        "commands": summary.commands(findings),
    }
    return Shown("run.html", told, extra)


async def _selection(house: House, found: Found) -> Shown:
    def make() -> tuple[Examined, dict[str, Any]]:
        run = select.load(found.path)
        return examine(run.selected), run.about

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
    return Shown("selection_run.html", told, {"shown": tables})
