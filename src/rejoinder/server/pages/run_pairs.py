"""Two runs compared: what got worse and what got better, in words, by system and metric, and item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.comparison.run_comparison import RunComparison, compare_runs
from rejoinder.comparison.run_pair import SystemPair, pair_runs
from rejoinder.errors import RejoinderError, SpecError, nearest
from rejoinder.scoring.result import Scores
from rejoinder.server.api.endpoint import status_of
from rejoinder.server.api.rank import json_number
from rejoinder.server.pages.cache import WorkProgress
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate, table_object, wants_page
from rejoinder.server.pages.library import RunEntry
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.server.pages.runs import run_line, suggest_pair
from rejoinder.server.pages.word_diff import diff_words

DIRECTED, DESCRIPTIVE = ("worse", "better", "same"), ("lower", "higher", "same")  # kinds of changes
CHANGES = tuple(dict.fromkeys([*DIRECTED, *DESCRIPTIVE]))


class ItemChange(NamedTuple):
    """One item of one system: its scores in both runs, and whether it got worse or better (lower or higher)."""

    system: SystemPair
    item: str
    old: float
    new: float
    kind: str


@dataclass(frozen=True)
class ComparedRuns:
    """A comparison of two runs, and where the replies are that it speaks of."""

    comparison: RunComparison

    @cached_property
    def rows(self) -> tuple[Mapping[tuple[str, str], int], Mapping[tuple[str, str], int]]:
        """The places of the first replies in both runs, by item and system."""
        pair = self.comparison.pair
        return _first_rows(pair.old.scores), _first_rows(pair.new.scores)

    def changes(self, metric: str, system: str | None) -> list[ItemChange]:
        """Return the items that have a score in both runs, the largest change first."""
        pair = self.comparison.pair
        sign, kinds = (-1.0 if pair.higher_is_better(metric) is False else 1.0), self.kinds(metric)
        changes = []
        for one in pair.systems:
            if system in (None, one.name):
                scores = pair.scores(metric, one).known()
                for item, old, new in zip(scores.items, scores.old.tolist(), scores.new.tolist(), strict=True):
                    kind = kinds[2] if new == old else kinds[sign * (new - old) > 0]
                    changes.append(ItemChange(one, item, old, new, kind))
        return sorted(changes, key=lambda change: -abs(change.new - change.old))

    def kinds(self, metric: str) -> tuple[str, str, str]:
        """Return what changes of a metric are called, which depends on whether it has a direction."""
        return DESCRIPTIVE if self.comparison.pair.higher_is_better(metric) is None else DIRECTED


def _first_rows(scores: Scores) -> dict[tuple[str, str], int]:
    systems = np.array(scores.systems, dtype=object)[scores.system_codes]
    keys = list(zip(scores.items, systems.tolist(), strict=True))
    return {key: len(keys) - 1 - place for place, key in enumerate(reversed(keys))}


async def run_pair_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Compare two runs; without both names, or where they cannot be compared, the form is still there."""
    runs = {name: run for name, run in context.library.runs().items() if run.kind == "scores"}
    newest = sorted(runs.values(), key=lambda run: -run.changed)
    data: dict[str, Any] = {"runs": [run.name for run in newest], "old": query.get("old"), "new": query.get("new")}
    data |= {"sentences": [], "tables": [], "notes": [], "items": [], "n": 0, "problem": None}
    if data["old"] is None or data["new"] is None:
        suggested = suggest_pair([run_line(run) for run in newest], data["new"] or data["old"])
        return PageContent("run_pair.html", data, {"shown": False, "suggested": suggested})
    try:
        compared = await _load_comparison(context, runs, data["old"], data["new"])
        data |= await run_in_threadpool(_show_changes, compared, query)
    except RejoinderError as error:
        if not wants_page(request):
            raise
        return PageContent("run_pair.html", {**data, "problem": str(error)}, {"shown": False}, status_of(error))
    tables = [compared.comparison.table(), compared.comparison.items_table()]
    tables = tables if len(tables[-1].rows) > 1 else tables[:-1]  # all items were compared
    first = [one for one in data["sentences"] if one.startswith(f"{data['metric']}: ")]
    others = [one for one in data["sentences"] if one not in first]
    return PageContent("run_pair.html", data, {"shown": True, "all_tables": tables, "lead": first, "others": others})


async def _load_comparison(context: PageContext, runs: Mapping[str, RunEntry], old: str, new: str) -> ComparedRuns:
    for name in (old, new):
        if name not in runs:
            raise SpecError(f"there is no run of scores called {name!r} here; {nearest(name, runs)}")
    if old == new:
        raise SpecError("both are the same run; choose two different ones")
    before, after = runs[old], runs[new]

    def make(progress: WorkProgress) -> ComparedRuns:
        progress.report("reading both runs", 0.05)
        pair = pair_runs(before.path, after.path)
        progress.report("comparing their replies", 0.5)
        return ComparedRuns(compare_runs(pair))

    return await context.cache.get(("pair", before, after), make)


def _show_changes(compared: ComparedRuns, query: Query) -> dict[str, Any]:
    comparison = compared.comparison
    pair = comparison.pair
    metrics = [metric for metric in pair.metrics if not pair.is_of_dialogues(metric)]
    directed = [metric for metric in metrics if pair.higher_is_better(metric) is not None]
    metric = query.get("metric") or next(iter(directed or metrics), "")
    if metric not in metrics:
        raise SpecError(f"the two runs have no common metric {metric!r} of single replies; {nearest(metric, metrics)}")
    systems = [one.name for one in pair.systems]
    system = query.get("system")
    if system is not None and system not in systems:
        raise SpecError(f"no system {system!r} is in both runs; {nearest(system, systems)}")
    changes = compared.changes(metric, system)
    counts = {kind: sum(one.kind == kind for one in changes) for kind in compared.kinds(metric)}
    if "only" in query:
        changes = [one for one in changes if one.kind == query["only"]]
    if words := search_terms(query.get("q", "")):
        changes = [one for one in changes if _contains(compared, one, words)]
    part, position = paginate(changes, query.get("page", 1))
    return {
        "metric": metric,
        "metrics": metrics,
        "system": system,
        "systems": systems,
        "only": query.get("only"),
        "q": query.get("q", ""),
        "counts": counts,
        "sentences": comparison.sentences(),
        "tables": [table_object(comparison.table()), table_object(comparison.items_table())],
        "notes": comparison.notes(),
        **position,
        "items": [_change_object(compared, one) for one in part],
    }


def _contains(compared: ComparedRuns, change: ItemChange, words: tuple[str, ...]) -> bool:
    pair = compared.comparison.pair
    turns = [turn.text for turn in pair.old.data.items[change.item].context] if pair.old.data else []
    text = "\n".join([*turns, *pair.reply_texts(change.system, change.item)]).casefold()
    return all(word.casefold() in text for word in words)


def _last_turn(compared: ComparedRuns, change: ItemChange) -> str:
    data = compared.comparison.pair.old.data
    context = data.items[change.item].context if data else ()
    return context[-1].text if context else ""


def _change_object(compared: ComparedRuns, change: ItemChange) -> dict[str, Any]:
    pair = compared.comparison.pair
    old, new = pair.reply_texts(change.system, change.item)
    before, after = compared.rows
    return {
        "item": change.item,
        "system": change.system.name,
        "last": _last_turn(compared, change) or None,
        "kind": change.kind,
        "old": {"text": old, "score": json_number(change.old), "reply": before[change.item, change.system.old]},
        "new": {
            "text": new,
            "score": json_number(change.new),
            "reply": after[pair.pairing.new_of_old[change.item], change.system.new],
        },
        "change": json_number(change.new - change.old),
        "diff": [part._asdict() for part in diff_words(old, new)],
    }
