"""A run over shards: each is scored by itself, once, and the means are computed from sums.

A shard holds whole conversations: the items of its responses, and every dialogue of theirs. Its scores are an ordinary
run folder, ``shards/ADDRESS``, where ADDRESS is the digest of the shard's content and of the plan; so a run that was
stopped continues, on any machine, with what is missing. ``sharded.json``, written last, lists shards and means.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

import rejoinder
from rejoinder.data.remote import is_remote, redact_address
from rejoinder.data.shards import conversations
from rejoinder.data.shards.files import Shard
from rejoinder.engines import request_counts
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.engines.spending import check_budget, ledger_path
from rejoinder.errors import InputError, RunError, SpecError, brief
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import SetMetric, parse
from rejoinder.scoring.flags import MEANINGS, describe_languages
from rejoinder.scoring.run import Plan, describe_identity
from rejoinder.scoring.run_parts import ABOUT, SHARDS
from rejoinder.scoring.sharded.results import ShardedResults, open_sharded_results
from rejoinder.scoring.sharded.worker import CONVERSATIONS, ITEMS
from rejoinder.stats.moments import Moments
from rejoinder.table import Cell, Estimate, Table

Sums = dict[str, dict[str, Moments]]  # by system and spec
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ShardedRun:
    """The results of a run over shards; its folder may be a remote address."""

    folder: str
    specs: tuple[str, ...]
    sums: Mapping[str, Mapping[str, Moments]]
    shards: Sequence[Mapping[str, Any]]

    def table(self) -> Table:
        """Return the means by system with their 95% intervals, best first under the first metric."""
        rows: list[list[Cell]] = []
        for system, by_spec in self.sums.items():
            intervals = {spec: by_spec[spec].interval() for spec in self.specs}
            n = max(one.n + one.n_missing for one in by_spec.values())
            rows.append([system, n, *(_bounded_estimate(spec, *intervals[spec][:3]) for spec in self.specs)])
        rows.sort(key=lambda row: -row[2].value if isinstance(row[2], Estimate) and row[2].value == row[2].value else 0)
        total = sum(int(one["responses"]) for one in self.shards)
        notes = [
            f"{total:,} responses in {len(self.shards):,} shards. [low, high]: 95% interval of the mean, "
            "clustered by conversation."
        ]
        for spec in self.specs:
            missing = sum(by_spec[spec].n_missing for by_spec in self.sums.values())
            if missing:
                units = sum(by_spec[spec].n + by_spec[spec].n_missing for by_spec in self.sums.values())
                name = "dialogues" if parse(spec).whole_dialogues else "responses"
                notes.append(f"{spec}: {missing:,} of {units:,} {name} have no score (NaN, left out of the mean).")
            cut = sum(one["cut"].get(spec, 0) for one in self.shards)
            if cut:
                notes.append(f"{spec}: {cut:,} of {total:,} responses, or what they were read with, were cut.")
        for flag, meaning in MEANINGS.items():
            n = sum(one["flags"].get(flag, 0) for one in self.shards)
            notes += [f"{flag}: {n:,} {meaning}."] if n else []
            if n and flag == "not_english":
                notes += describe_languages({spec: parse(spec).languages for spec in self.specs})
        idle = sum(not one["responses"] for one in self.shards)
        notes += [f"{idle:,} of {len(self.shards):,} shards hold no responses."] if idle else []
        return Table("Mean score by system", ["system", "n", *self.specs], rows, notes)


def score_shards(
    shards: Sequence[Shard],
    plan: Plan,
    folder: str | Path,
    engine: Engine,
    progress: Progress | None = None,
    table: bool = False,
    budget: float | None = None,
) -> ShardedRun:
    """Score every shard and compute the means; ``table`` adds a ``scores.parquet`` to each shard's scores.

    ``budget`` is the most that requests to endpoints may cost over all shards.
    """
    _check_plan(plan)
    check_budget(budget, engine.name)
    where = str(folder) if is_remote(str(folder)) else str(Path(folder).resolve())
    folder_of_results = _claim_results(plan, where)
    names = "\0".join([where, *plan.specs, *sorted(shard.where for shard in shards)])
    identity = sha256_of_bytes(names.encode("utf-8", "surrogateescape"))[:16]
    limit = None if budget is None else [budget, str(ledger_path(identity))]
    work = WorkerSpec(
        "rejoinder.scoring.sharded.worker:ShardWorker",
        (list(plan.specs), plan.empty, plan.matched, where, table, limit),
    )
    scored = _compute_shards(shards, work, engine, progress)
    scored = _name_shards(shards, scored)
    _check_duplicates(scored)
    _check_conversations(scored, folder_of_results)
    _check_items(scored, folder_of_results)
    sums = _add_sums([one["sums"] for one in scored])
    about = {
        "format": 1,
        "rejoinder": rejoinder.__version__,
        "metrics": [describe_identity(parse(spec)) for spec in plan.specs],
        "empty": plan.empty,
        "shards": [{key: one[key] for key in ("name", "address", "bytes", "responses")} for one in scored],
        "sums": {s: {spec: dataclasses.asdict(one) for spec, one in of.items()} for s, of in sums.items()},
    }
    folder_of_results.write(ABOUT, orjson.dumps(about, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return ShardedRun(str(folder), plan.specs, sums, scored)


def _compute_shards(
    shards: Sequence[Shard], work: WorkerSpec, engine: Engine, progress: Progress | None
) -> list[Mapping[str, Any]]:
    """Compute every shard; progress is counted in responses where manifests list them, else in bytes."""
    sizes = [shard.responses for shard in shards if shard.responses is not None]
    if len(sizes) < len(shards):
        sizes = [shard.size for shard in shards]
    computed: list[Mapping[str, Any] | None] = [None] * len(shards)
    n_done, total = 0, sum(sizes)
    for result in engine.compute(work, [list(shard) for shard in shards]):
        computed[result.number] = result.value
        request_counts.add_request_report(result.value["requests"])
        n_done += sizes[result.number]
        if progress is not None:
            progress(n_done, total)
    return [one for one in computed if one is not None]


def _check_plan(plan: Plan) -> None:
    for spec in plan.specs:
        if isinstance(parse(spec), SetMetric):
            raise SpecError(f"{spec} is computed over the whole set, which shards do not allow; leave it out")
    if not plan.specs:
        raise SpecError("a run over shards has no default metrics, because shards may differ; name the metrics")


def _claim_results(plan: Plan, where: str) -> ShardedResults:
    """Return the folder for results; raise where it holds a run with other metrics."""
    results = open_sharded_results(where)
    try:
        raw = results.read(ABOUT)
        about = None if raw is None else orjson.loads(raw)
        same = about is None or (
            [one["spec"] for one in about["metrics"]] == list(plan.specs) and about["empty"] == plan.empty
        )
    except (OSError, ValueError, KeyError, TypeError):
        same = False
    if not same or results.read("run.json") is not None:
        raise RunError(
            f"{redact_address(where)}: holds another run (other metrics, or a run of one file); choose another folder"
        )
    return results


def _name_shards(shards: Sequence[Shard], results: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Add to each shard's results its name in errors: its file name, or its path where several have that name."""
    counts = Counter(shard.name for shard in shards)
    names = [shard.name if counts[shard.name] == 1 else redact_address(shard.where) for shard in shards]
    return [{**one, "called": name} for one, name in zip(results, names, strict=True)]


def _check_duplicates(shards: Sequence[Mapping[str, Any]]) -> None:
    """Raise where two shards have the same content: its replies would count twice."""
    seen: dict[str, Mapping[str, Any]] = {}
    for one in shards:
        other = seen.setdefault(one["sha256"], one)
        if other is not one and one["responses"]:
            raise InputError(
                f"the shards {other['called']} and {one['called']} have the same content; remove one of them"
            )


def _check_conversations(shards: Sequence[Mapping[str, Any]], results: ShardedResults) -> None:
    """Raise where two shards have replies of one system in one conversation: intervals would be too narrow."""
    clash = _find_clash(shards, results, CONVERSATIONS, conversations.find_shared)
    if clash is None:
        return
    first, second, digest = clash
    system, name = _find_conversation(results, first["address"], digest)
    raise InputError(
        f"the shards {first['called']} and {second['called']} both have replies of {brief(system)} in the conversation "
        f"{brief(name)}; put it into one of them (rejoinder shards write --gather does)"
    )


def _check_items(shards: Sequence[Mapping[str, Any]], results: ShardedResults) -> None:
    """Raise where two shards have one id for different items: replies to them would be compared with each other."""
    clash = _find_clash(shards, results, ITEMS, conversations.find_contradiction)
    if clash is None:
        return
    first, second, digest = clash
    with results.files([f"{SHARDS}/{first['address']}/scores.jsonl"]) as (path,), path.open("rb") as lines:
        names = (orjson.loads(line)["item"] for line in lines)
        name = next((name for name in names if conversations.conversation_digest(name) == digest), "of an unknown name")
    raise InputError(
        f"the shards {first['called']} and {second['called']} both have an item {brief(name)}, with another context, "
        "other references or another dialogue; give it another id in one of them"
    )


def _find_clash(
    shards: Sequence[Mapping[str, Any]],
    results: ShardedResults,
    name: str,
    compare: Callable[[Sequence[Path]], conversations.SharedDigest | None],
) -> tuple[Mapping[str, Any], Mapping[str, Any], int] | None:
    """Return two shards whose digests (of a file with this name) contradict each other, and the digest."""
    nonempty = [one for one in shards if one["responses"]]
    if len(nonempty) < 2:
        return None
    with results.files([f"{SHARDS}/{one['address']}/{name}" for one in nonempty]) as paths:
        shared = compare(paths)
    return None if shared is None else (nonempty[shared.first], nonempty[shared.second], shared.digest)


def _find_conversation(results: ShardedResults, address: str, digest: int) -> tuple[str, str]:
    """Return the system and the conversation of a digest."""
    with results.files([f"{SHARDS}/{address}/scores.jsonl"]) as (path,), path.open("rb") as lines:
        for line in map(orjson.loads, lines):
            names = line["system"], line.get("dialogue", line["item"])
            if conversations.conversation_digest(*names) == digest:
                return names
    return "a system", "of an unknown name"


def _add_sums(parts: Sequence[Mapping[str, Mapping[str, Any]]]) -> Sums:
    sums: Sums = {}
    for part in parts:
        for system, by_spec in part.items():
            of_system = sums.setdefault(system, {})
            for spec, one in by_spec.items():
                of_system[spec] = of_system.get(spec, Moments()) + Moments(**one)
    if not sums:
        raise InputError("the shards hold no responses to score")
    return sums


def _bounded_estimate(spec: str, value: float, low: float, high: float) -> Estimate:
    """The interval, cut to the metric's range."""
    least, most = parse(spec).range
    return Estimate(value, max(low, least), min(high, most))
