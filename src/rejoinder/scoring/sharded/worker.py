"""One shard of a run over shards: scored by itself, once, with its sums."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from rejoinder.data.inputs import Input
from rejoinder.data.parquet import is_parquet
from rejoinder.data.remote import is_remote, split_address
from rejoinder.data.shards.conversations import item_digests, save_digests, sort_digests
from rejoinder.data.shards.files import Shard, check_shard, fetch_local
from rejoinder.engines import request_counts
from rejoinder.engines.spending import SpendingLimit, limit_spending
from rejoinder.errors import EmptyError
from rejoinder.files import write_json
from rejoinder.metric import FIELDS, parse
from rejoinder.scoring.index import NoResponsesError
from rejoinder.scoring.reader import write_score_parquet
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Plan, run
from rejoinder.scoring.run_parts import SHARDS
from rejoinder.scoring.sharded.results import SUMS, open_sharded_results
from rejoinder.stats.moments import compute_moments

CONVERSATIONS, ITEMS = "conversations.npy", "items.npy"
_ITEM = b'{"kind":"item"'


class ListedFile(NamedTuple):
    """A file as a manifest describes it."""

    name: str
    digest: str
    settings: str = ""


class ShardWorker:
    """Scores shards; models are loaded once and kept."""

    def __init__(
        self,
        specs: Sequence[str],
        empty: Any,
        matched: bool,
        where: str,
        table: bool = False,
        limit: Sequence[Any] | None = None,
    ) -> None:
        self._limit = None if limit is None else SpendingLimit(*limit)
        self._plan = Plan(tuple(specs), empty, matched)
        metrics = [parse(spec) for spec in specs]
        used = frozenset().union(*(metric.needs | metric.reads for metric in metrics))
        # What is last in a dialogue, and what followed it, is seen from contexts, references and futures.
        self._without = frozenset[str]() if any(metric.whole_dialogues for metric in metrics) else FIELDS - used
        self._results = open_sharded_results(where)
        self._table = table

    def compute(self, task: Sequence[Any]) -> dict[str, Any]:
        """Score one shard, unless it was scored before; return its address, its counts and its sums."""
        shard, start = Shard(*task), time.perf_counter()
        report: dict[str, Any] = {}
        with request_counts.fill_request_report(report), limit_spending(self._limit):
            result = self._find_stored(shard) or self._score(shard)
        facts = {"name": shard.name, "bytes": shard.size, "seconds": time.perf_counter() - start}
        return {**result, **facts, "requests": report}

    def close(self) -> None:
        """Nothing to release."""

    def _find_stored(self, shard: Shard) -> dict[str, Any] | None:
        """Return the stored results of a remote shard whose manifest has its digest: it need not be fetched."""
        if shard.sha256 is None or not is_remote(shard.where):
            return None
        return self._read_summary(
            self._plan.identity([ListedFile(split_address(shard.where)[1], shard.sha256)]), shard.sha256
        )

    def _read_summary(self, address: str, sha256: str, fresh: bool = False) -> dict[str, Any] | None:
        raw = self._results.read(f"{SHARDS}/{address}/{SUMS}")
        summary = {} if raw is None else orjson.loads(raw)
        # A shard that was summed before items were compared between shards is summed again.
        return {**summary, "address": address, "sha256": sha256, "fresh": fresh} if "items" in summary else None

    def _score(self, shard: Shard) -> dict[str, Any]:
        with fetch_local(shard) as path:
            source = Input(path, self._without, shard.name)
            try:
                check_shard(shard, source.digest)
                address = self._plan.identity([source])
                stored = self._read_summary(address, source.digest)
                if stored is not None:
                    return stored
                with self._results.making(address) as folder:
                    self._make(source, folder, is_whole=not (self._without and is_parquet(path)))
            except (EmptyError, NoResponsesError):  # a shard may be empty: continue with the others
                return {"address": None, "sha256": source.digest, "fresh": False, **_summarise_shard(None)}
            finally:
                source.close()
        summary = self._read_summary(address, source.digest, fresh=True)
        if summary is None:
            raise RuntimeError(f"{address}: what was written is missing")
        return summary

    def _make(self, source: Input, folder: Path, is_whole: bool) -> None:
        finished = run([source], self._plan, folder, cache=False)
        scores = finished.scores
        save_digests(sort_digests(_scored_conversations(scores)), folder / CONVERSATIONS)
        items = item_digests(_read_items(folder / "data.jsonl"), self._without, is_whole)
        save_digests(items, folder / ITEMS)
        if self._table:
            write_score_parquet(folder)
        stored = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and p.name != "timings.json")
        answers = {one["spec"]: one["answers"] for one in finished.about["metrics"] if "answers" in one}
        summary = {**_summarise_shard(scores), "items": len(items), "stored": stored}
        write_json(folder / SUMS, summary | ({"answers": answers} if answers else {}))


def _summarise_shard(scores: Scores | None) -> dict[str, Any]:
    """Return what is summed over shards, as plain values."""
    if scores is None:
        return {"responses": 0, "sums": {}, "flags": {}, "cut": {}, "items": 0, "stored": 0}
    sums: dict[str, Any] = {}
    for code, system in enumerate(scores.systems):
        rows = scores.system_codes == code
        sums[system] = {
            spec: dataclasses.asdict(compute_moments(column[own], np.asarray(scores.clusters)[own]))
            for spec, column in scores.values.items()
            for own in [rows & scores.unit_rows(spec)]
        }
    return {"responses": len(scores), "sums": sums, "flags": dict(scores.flags), "cut": dict(scores.cut)}


def _scored_conversations(scores: Scores) -> Iterator[tuple[str, str]]:
    """Yield each pair of a system and a conversation with replies of it, once."""
    codes = scores.system_codes * (int(scores.clusters.max(initial=0)) + 1) + scores.clusters
    for i in np.unique(codes, return_index=True)[1].tolist():
        dialogue = int(scores.dialogue_codes[i])
        name = scores.items[i] if dialogue < 0 else scores.dialogues[dialogue]
        yield scores.systems[scores.system_codes[i]], name


def _read_items(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the items of a run's checked input, as JSON objects."""
    with path.open("rb") as lines:
        for line in lines:
            if line.startswith(_ITEM):
                yield orjson.loads(line)
