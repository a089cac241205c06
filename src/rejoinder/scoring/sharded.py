"""A run over shards: each is scored by itself, once, and the means are put together from sums.

A shard holds whole conversations: the items of its responses, and every dialogue that it touches. Its scores are an
ordinary run folder, ``shards/ADDRESS``, where ADDRESS is what the shard holds and what is asked of it; so a run that
was stopped, on any machine, goes on with what is missing. ``sharded.json``, written last, lists shards and means.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

import rejoinder
from rejoinder.contract import SetMetric
from rejoinder.data.shards import Shard, local
from rejoinder.engines.contract import Engine, Work
from rejoinder.errors import InputError, RunError, SpecError
from rejoinder.registry import parse, signature
from rejoinder.report.table import Cell, Estimate, Table
from rejoinder.scoring.folder import write_json
from rejoinder.scoring.inputs import Input
from rejoinder.scoring.run import Plan, run
from rejoinder.stats.moments import Moments, moments

ABOUT, SHARDS, MOMENTS = "sharded.json", "shards", "moments.json"
Sums = dict[str, dict[str, Moments]]  # by system and spec
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ShardedRun:
    """What a run over shards came to."""

    folder: Path
    specs: tuple[str, ...]
    sums: Mapping[str, Mapping[str, Moments]]
    shards: Sequence[Mapping[str, Any]]

    def table(self) -> Table:
        """Means by system, best first under the first metric, each with its 95% interval."""
        rows: list[list[Cell]] = []
        for system, by_spec in self.sums.items():
            found = {spec: by_spec[spec].interval() for spec in self.specs}
            n = max(one.n + one.n_missing for one in by_spec.values())
            rows.append([system, n, *(_estimate(spec, *found[spec][:3]) for spec in self.specs)])
        rows.sort(key=lambda row: -row[2].value if isinstance(row[2], Estimate) and row[2].value == row[2].value else 0)
        total = sum(int(one["responses"]) for one in self.shards)
        notes = [
            f"{total:,} responses in {len(self.shards):,} shards. [low, high]: 95% interval of the mean, conversations "
            "taken as the unit that varies."
        ]
        for spec in self.specs:
            missing = sum(by_spec[spec].n_missing for by_spec in self.sums.values())
            if missing:
                notes.append(f"{spec}: {missing:,} of {total:,} responses have no score (NaN, left out of the mean).")
        return Table("Mean score by system", ["system", "n", *self.specs], rows, notes)


class ShardWorker:
    """Scores shards; models are loaded once and stay."""

    def __init__(self, specs: Sequence[str], empty: Any, matched: bool, folder: str) -> None:
        self._plan = Plan(tuple(specs), empty, matched)
        self._folder = Path(folder) / SHARDS

    def compute(self, task: Sequence[Any]) -> dict[str, Any]:
        """Score one shard, unless it has been: where it is kept, what it holds, and its sums."""
        shard, begun = Shard(*task), time.perf_counter()
        with local(shard) as path:
            given = Input(path)
            try:
                address, digest = self._plan.identity([given]), given.digest
            finally:
                given.close()
            folder = self._folder / address
            finished = run([path], self._plan, folder, cache=False)
        kept = folder / MOMENTS
        if not kept.is_file():
            write_json(kept, _sums_of(finished.scores))
        return {
            "name": shard.name,
            "address": address,
            "sha256": digest,
            "bytes": shard.size,
            "responses": len(finished.scores),
            "sums": orjson.loads(kept.read_bytes()),
            "fresh": finished.fresh,
            "seconds": time.perf_counter() - begun,
        }

    def close(self) -> None:
        """There is nothing to let go of."""


def score_shards(
    shards: Sequence[Shard], plan: Plan, folder: Path, engine: Engine, progress: Progress | None = None
) -> ShardedRun:
    """Score every shard and put the means together."""
    _check(plan)
    _claim(plan, folder)
    given = (list(plan.specs), plan.empty, plan.matched, str(folder.resolve()))
    work = Work("rejoinder.scoring.sharded:ShardWorker", given)
    done: list[dict[str, Any] | None] = [None] * len(shards)
    ready, total = 0, sum(shard.size for shard in shards)
    for outcome in engine.compute(work, [list(shard) for shard in shards]):
        done[outcome.number] = outcome.value
        ready += shards[outcome.number].size
        if progress is not None:
            progress(ready, total)
    found = [one for one in done if one is not None]
    _check_twice(found)
    sums = _added([one["sums"] for one in found])
    listed = [{key: one[key] for key in ("name", "address", "bytes", "responses")} for one in found]
    write_json(
        folder / ABOUT,
        {
            "format": 1,
            "rejoinder": rejoinder.__version__,
            "metrics": [{"spec": spec, "signature": signature(parse(spec))} for spec in plan.specs],
            "empty": plan.empty,
            "shards": listed,
            "sums": {s: {spec: dataclasses.asdict(one) for spec, one in of.items()} for s, of in sums.items()},
        },
    )
    return ShardedRun(folder, plan.specs, sums, found)


def _check(plan: Plan) -> None:
    for spec in plan.specs:
        if isinstance(parse(spec), SetMetric):
            raise SpecError(f"{spec} is of a whole set and cannot be put together from shards; leave it out")
    if not plan.specs:
        raise SpecError("name the metrics of a run over shards with -m: what suits one shard may not suit another")


def _claim(plan: Plan, folder: Path) -> None:
    """Make the folder; one that holds means of other metrics stays as it is."""
    try:
        known = orjson.loads((folder / ABOUT).read_bytes())
        same = [one["spec"] for one in known["metrics"]] == list(plan.specs) and known["empty"] == plan.empty
    except FileNotFoundError:
        same = True
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if not same or (folder / "run.json").exists():
        raise RunError(f"{folder}: holds another run (other metrics, or of one file); choose another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)


def _check_twice(found: Sequence[Mapping[str, Any]]) -> None:
    """Raise where two shards hold the same: its replies would count twice."""
    seen: dict[str, str] = {}
    for one in found:
        if (other := seen.setdefault(one["sha256"], one["name"])) != one["name"]:
            raise InputError(f"the shards {other} and {one['name']} hold the same; take one of them away")


def _sums_of(scores: Any) -> dict[str, Any]:
    """The moments of a shard's scores, by system and spec, as plain values."""
    found: dict[str, Any] = {}
    for code, system in enumerate(scores.systems):
        mine = scores.system_codes == code
        found[system] = {
            spec: dataclasses.asdict(moments(column[mine], np.asarray(scores.clusters)[mine]))
            for spec, column in scores.values.items()
        }
    return found


def _added(parts: Sequence[Mapping[str, Mapping[str, Any]]]) -> Sums:
    found: Sums = {}
    for part in parts:
        for system, by_spec in part.items():
            mine = found.setdefault(system, {})
            for spec, one in by_spec.items():
                mine[spec] = mine.get(spec, Moments()) + Moments(**one)
    if not found:
        raise InputError("the shards hold no responses to score")
    return found


def _estimate(spec: str, value: float, low: float, high: float) -> Estimate:
    """The interval, cut to the metric's range."""
    least, most = parse(spec).range
    return Estimate(value, max(low, least), min(high, most))
