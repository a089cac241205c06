"""The pages of runs: the list with a headline for each, and the leaderboards of one."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from starlette.requests import Request

from rejoinder.errors import RejoinderError
from rejoinder.reports import summary
from rejoinder.reports.findings import RunFindings, compute_findings
from rejoinder.reports.leaderboard import list_leaderboards
from rejoinder.reports.missing import count_flags, missing_table
from rejoinder.scoring.folder import read_run_about
from rejoinder.scoring.reader import load_scores
from rejoinder.selection.evaluate import evaluate_selection
from rejoinder.selection.folder import read_selection_about as read_selection
from rejoinder.selection.ranking.evaluation import ranker_standings
from rejoinder.selection.ranking.rank import load_ranking, read_ranking_about
from rejoinder.selection.ranking.result import NDCG
from rejoinder.selection.select import load_selection
from rejoinder.server.pages.cache import NotYetError, WorkProgress
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.library import RunEntry
from rejoinder.server.pages.questions import selection_page
from rejoinder.table import Estimate, format_cell, join_names

_HEADLINE_SECONDS = 1.0  # how long the list waits for headlines that were never computed
_HEADLINES = 200  # of the latest runs


async def runs_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List every run, the latest first, each with its result in a sentence."""
    runs = sorted(context.library.runs().values(), key=lambda run: -run.changed)
    lines = [run_line(run) for run in runs]
    tasks = {
        line["name"]: asyncio.ensure_future(_headline(context, run))
        for run, line in list(zip(runs, lines, strict=True))[:_HEADLINES]
        if line["problem"] is None
    }
    if tasks:
        await asyncio.wait(tasks.values(), timeout=_HEADLINE_SECONDS)
    waiting = False
    for line in lines:
        task = tasks.get(line["name"])
        done = task is not None and task.done()
        line["headline"] = task.result() if task is not None and done else None
        waiting = waiting or (task is not None and not done)
    folders = [str(folder) for folder in context.library.folders]
    return PageContent(
        "runs.html", {"runs": lines, "folders": folders, "waiting": waiting}, {"pair": suggest_pair(lines)}
    )


def suggest_pair(lines: Sequence[Mapping[str, Any]], name: str | None = None) -> tuple[str | None, str | None]:
    """Return an old and a new run to compare, the latest that share a system; with a name, one of both is that run."""
    scored = [line for line in lines if line["kind"] == "scores" and line["problem"] is None]
    pairs = [(old, new) for place, new in enumerate(scored) for old in scored[place + 1 :]]
    pairs = [pair for pair in pairs if name is None or name in (pair[0]["name"], pair[1]["name"])]
    if not pairs:
        return name, None

    def doubt(pair: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[bool, bool]:
        old, new = pair
        return not set(old["systems"]) & set(new["systems"]), name is not None and new["name"] != name

    old, new = min(pairs, key=doubt)
    return old["name"], new["name"]


def run_line(run: RunEntry) -> dict[str, Any]:
    """Summarise a run; one that cannot be read says why."""
    line: dict[str, Any] = {"name": run.name, "kind": run.kind, "inputs": [], "systems": [], "metrics": []}
    line |= {"rows": 0, "begun": None, "problem": None, "date": date_in_words(run.changed / 1e9)}
    try:
        if run.kind == "selection":
            about = read_selection(run.path)
            systems = [system["system"] for system in about["systems"]]
            return line | {"inputs": [about["input"]["name"]], "systems": systems, "rows": about["questions"]}
        if run.kind == "ranking":
            about = read_ranking_about(run.path)
            inputs = [about["input"]["name"]]
            return line | {"inputs": inputs, "systems": list(about["rankers"]), "rows": about["questions"]}
        about = read_run_about(run.path)
        begun = _start_time(run.path)
        return line | {
            "inputs": [entry["name"] for entry in about["inputs"]],
            "systems": list(about["systems"]),
            "metrics": [metric["spec"] for metric in about["metrics"]],
            "rows": sum(about["systems"].values()),
            "begun": begun,
            "date": date_in_words(_seconds_of(begun) or run.changed / 1e9),
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


def _seconds_of(text: str | None) -> float | None:
    try:
        return datetime.fromisoformat((text or "").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def date_in_words(seconds: float, now: float | None = None) -> str:
    """Return a moment as people say it, in UTC: "today at 14:02", "yesterday at 09:30", "12 March 2026"."""
    then = datetime.fromtimestamp(seconds, UTC)
    today = datetime.fromtimestamp(time.time() if now is None else now, UTC).date()
    days = (today - then.date()).days
    if days in (0, 1):
        return f"{'yesterday' if days else 'today'} at {then:%H:%M} UTC"
    return f"{then.day} {then:%B %Y}"


async def _headline(context: PageContext, run: RunEntry) -> str | None:
    """Return the result of a run in one sentence; None where it has none, or cannot be read."""
    try:
        return await context.headlines.get(("headline", run), lambda progress: _make_headline(run, progress), "reading")
    except (RejoinderError, NotYetError):
        return None


def _make_headline(run: RunEntry, progress: WorkProgress) -> str | None:
    progress.report("reading the scores", 0.1)
    if run.kind == "selection":
        standings = evaluate_selection(load_selection(run.path).selected).standings
        return describe_best("accuracy", {one.system: one.accuracy for one in standings if one.n}, True)
    if run.kind == "ranking":
        ranked = list(load_ranking(run.path).values())[-1].evaluated()
        return describe_best(NDCG, {one.ranker: one.measures[NDCG].estimate for one in ranker_standings(ranked)}, True)
    scores = load_scores(run.path, read_run_about(run.path))
    spec = next((one for one, facts in scores.facts.items() if facts.higher_is_better is not None), None)
    if spec is None:
        return None
    means = {system: scores.mean(spec, system) for system in scores.systems}
    return describe_best(spec, means, scores.facts[spec].higher_is_better is not False)


def describe_best(what: str, means: Mapping[str, Estimate], higher_is_better: bool) -> str | None:
    """Say which system has the best mean and which comes next; None where no mean is known."""
    known = {system: mean for system, mean in means.items() if not math.isnan(mean.value)}
    order = sorted(known, key=lambda system: -known[system].value if higher_is_better else known[system].value)
    if not order:
        return None
    best = known[order[0]]
    if len(order) == 1:
        return f"{what} {format_cell(best)}"
    shared = [system for system in order if known[system].value == best.value]
    if len(shared) > 1:
        return f"{join_names(shared)} share the best {what}: {format_cell(best)}"
    return f"{order[0]} has the best {what}: {format_cell(best)}; next {order[1]}: {format_cell(known[order[1]])}"


async def load_findings(context: PageContext, name: str) -> RunFindings:
    """Return everything known about a scored run, computed once."""
    run = context.library.run(name)
    if run.kind != "scores":
        raise RejoinderError(f"the run {name} is a {run.kind}, which has no scores of replies")
    return await context.cache.get(
        ("findings", run), lambda progress: compute_findings(run.path, progress=progress.report)
    )


async def run_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show a run's leaderboards, or the tables of a selection or ranking."""
    run = context.library.run(request.path_params["run"])
    if run.kind != "scores":
        return await selection_page(context, run, query)
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
