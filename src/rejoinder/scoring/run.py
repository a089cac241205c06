"""A run: one computation of scores, stored in a folder that is written once.

``run.json`` (what was computed, from which inputs, with which versions, and the digests of the other files) is written
last: a folder that has it is finished and never changes. ``scores.jsonl`` has one line per response,
``dialogues.jsonl`` one line per dialogue, system and metric, ``data.jsonl`` the checked input, ``judge.jsonl`` a
judge's raw answers, ``timings.json`` all that differs between two runs of the same command.
"""

from __future__ import annotations

import itertools
import platform
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol

import orjson

import rejoinder
from rejoinder.data.importers import ImportOptions, ImportTally
from rejoinder.data.inputs import Input, describe_import, open_inputs
from rejoinder.engines import request_counts
from rejoinder.engines.base import Engine
from rejoinder.engines.local import LocalEngine
from rejoinder.engines.long_work import LongWork, open_long_work
from rejoinder.engines.spending import RESUME_HINT, SpendingLimit, check_budget, ledger_path
from rejoinder.errors import BudgetError, SpecError
from rejoinder.files import sha256_of_bytes, write_json
from rejoinder.metric import Metric, parse, signature
from rejoinder.model_use import record_models
from rejoinder.paths import cache_home
from rejoinder.scoring.api import default_metrics
from rejoinder.scoring.assembly import AssembledScores, assemble_scores, summarise_traces, trace_files, write_traces
from rejoinder.scoring.chunks import ComputedChunk, ScoringJob, compute_chunks
from rejoinder.scoring.cost import describe_progress, make_tallies, tally_requests
from rejoinder.scoring.folder import (
    CHUNKS,
    DATA,
    FILES,
    FORMAT,
    claim_run_folder,
    describe_run_files,
    read_finished_run,
    read_run_about,
)
from rejoinder.scoring.index import ResponseIndex, index_inputs
from rejoinder.scoring.result import Scores
from rejoinder.user_function import name_function

_LIBRARIES = ("numpy", "scipy", "orjson", "py3langid", "rapidfuzz", "snowballstemmer")
Progress = Callable[[int, int], None]


class NamedInput(Protocol):
    """A file by its name and the digest of its content, and what was said about how to read it."""

    @property
    def name(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def settings(self) -> str: ...


@dataclass(frozen=True)
class Plan:
    """What a run computes: everything that decides its results, and nothing else."""

    specs: tuple[str, ...]
    empty: Literal["error", "nan"] = "error"
    matched: bool = False

    @classmethod
    def of(cls, metrics: Sequence[str], empty: Literal["error", "nan"] = "error", matched: bool = False) -> Plan:
        """Return a plan for metrics as typed, each in its canonical form; a metric that is given twice is an error."""
        if functions := [one for one in metrics if not isinstance(one, str)]:
            name = name_function(functions[0]) if callable(functions[0]) else str(functions[0])
            raise SpecError(
                f"a run stores the specs of its metrics, and {name} has none; put it into a file and name it as "
                f"'./mine.py:{name}', or use rejoinder.score"
            )
        specs = tuple(str(parse(spec)) for spec in metrics)
        repeated = [spec for i, spec in enumerate(specs) if spec in specs[:i]]
        if repeated:
            raise SpecError(f"the metric {repeated[0]} was given twice; leave one out")
        return cls(specs, empty, matched)

    def identity(self, inputs: Sequence[NamedInput]) -> str:
        """Return the digest of a run: the same input and the same plan give the same run."""
        signatures = [signature(parse(spec)) for spec in self.specs]
        parts = [
            FORMAT,
            rejoinder.__version__,
            [[i.name, i.digest, *([i.settings] if i.settings else [])] for i in inputs],
            signatures,
            self.empty,
            self.matched,
        ]
        return sha256_of_bytes(orjson.dumps(parts))[:16]


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its ``run.json``, its scores, and whether they were computed just now."""

    folder: Path
    about: dict[str, Any]
    scores: Scores
    fresh: bool


def run(
    inputs: Sequence[Any],
    plan: Plan,
    folder: str | Path | None = None,
    processes: int = 1,
    cache: bool = True,
    progress: Progress | None = None,
    engine: Engine | None = None,
    options: ImportOptions | None = None,
    budget: float | None = None,
) -> Run:
    """Score every response of the inputs and store everything in a run folder.

    - ``inputs``: what ``read`` takes: files, folders of tables, tables in memory, or ``dataset:NAME``.
    - ``plan``: the metrics; without any, the default ones that suit the input.
    - ``folder``: the run folder; by default ``runs/NAME-IDENTITY``.
    - ``processes``: how many processes compute, where no engine is given.
    - ``cache``: whether the score cache is read and written.
    - ``progress``: a function that is called with the number of responses done, and of all.
    - ``engine``: where the scores are computed.
    - ``options``: how to read inputs in other formats than ours: columns, system, sheet.
    - ``budget``: the most that requests to endpoints may cost over this run, in the currency of the prices
      (docs/judge.md); it stops before it is passed, with all answers stored.

    A run that was stopped continues where it was when the same command is run again; a finished one is not repeated.

    >>> import rejoinder
    >>> finished = rejoinder.run(["chats.jsonl"], rejoinder.Plan.of(["length"]), "lengths")
    >>> finished.folder.name, list(finished.scores.metrics)
    ('lengths', ['length'])
    """
    start, engine = time.time(), engine or LocalEngine(processes)
    check_budget(budget, engine.name)
    sources = open_inputs(inputs, options)
    try:
        if not plan.specs:
            plan = replace(plan, specs=tuple(default_metrics(*_available_parts(sources))))
        identity = plan.identity(sources)
        folder = Path(folder or f"runs/{sources[0].stem}-{identity[:8]}")
        finished = read_finished_run(folder, identity)
        if finished is not None:
            return Run(folder, finished, load(folder), fresh=False)
        with claim_run_folder(folder, identity, trace_files(plan.specs)) as finished:
            if finished is not None:
                return Run(folder, finished, load(folder), fresh=False)
            limit = None if budget is None else SpendingLimit(budget, str(ledger_path(identity)))
            scores, about = _compute_run(sources, plan, identity, folder, cache, progress, engine, start, limit)
            return Run(folder, about, scores, fresh=True)
    finally:
        for source in sources:
            source.close()


def _compute_run(
    sources: Sequence[Input],
    plan: Plan,
    identity: str,
    folder: Path,
    cache: bool,
    progress: Progress | None,
    engine: Engine,
    start: float,
    limit: SpendingLimit | None = None,
) -> tuple[Scores, dict[str, Any]]:
    """Compute a run in a folder that was claimed for it; its ``run.json`` is written last."""
    before = request_counts.get_request_counts()
    index = index_inputs(sources, folder / DATA, plan.empty == "nan")
    store = cache_home() / "scores" if cache else folder / CHUNKS
    job = ScoringJob(folder / DATA, store, plan.specs, plan.matched, limit)
    tallies = make_tallies(plan.specs)
    tally_requests(tallies, folder / DATA, index, store)
    try:
        done = _compute_all_chunks(job, index, engine, progress)
    except BudgetError as error:
        progress_now = describe_progress(plan.specs, folder / DATA, index, store)
        raise BudgetError(str(error).replace(RESUME_HINT, f"{progress_now}; {RESUME_HINT}")) from None
    assembly = assemble_scores(folder, job, index, done)
    write_traces(folder, job, index)
    about = _describe_run(identity, sources, plan, index, assembly)
    for spec, summary in summarise_traces(folder, plan.specs).items():
        about["metrics"][plan.specs.index(spec)]["answers"] = summary
    for tally in tallies:
        one = about["metrics"][plan.specs.index(str(tally.metric))]
        if "answers" in one:
            one["cost"] = {**tally.metric.price_answers(one["answers"]), "answered_before": tally.answered}
    about["files"] = describe_run_files(folder, [*FILES, *trace_files(plan.specs)])
    requests = request_counts.get_request_counts() - before
    write_json(folder / "timings.json", _describe_timings(start, engine, plan, done, requests))
    shutil.rmtree(folder / CHUNKS, ignore_errors=True)
    write_json(folder / "run.json", about)
    return assembly.scores, about


def _available_parts(inputs: Sequence[Input]) -> tuple[bool, bool]:
    """Return whether any items of the inputs have a context, and references."""
    context = references = False
    for item in itertools.chain.from_iterable(source.first_items() for source in inputs):
        context, references = context or bool(item.context), references or bool(item.references)
        if context and references:
            break
    return context, references


def _compute_all_chunks(
    job: ScoringJob, index: ResponseIndex, engine: Engine, progress: Progress | None
) -> list[ComputedChunk]:
    chunks = index.chunks()
    computed: list[ComputedChunk | None] = [None] * len(chunks)
    n_done = 0
    with open_long_work(LongWork(len(index), progress)) as work:
        for chunk in compute_chunks(job, chunks, index.where, _limit_processes(engine, len(chunks))):
            computed[chunk.number] = chunk
            n_done = work.before = n_done + chunk.size
            if progress is not None:
                progress(n_done, len(index))
    return [chunk for chunk in computed if chunk is not None]


def _limit_processes(engine: Engine, chunks: int) -> Engine:
    """Return the engine with at most as many local processes as chunks: starting one costs more than a chunk."""
    if isinstance(engine, LocalEngine) and engine.workers > chunks:
        return LocalEngine(max(1, chunks), counts=engine.counts)
    return engine


def _describe_run(
    identity: str, inputs: Sequence[Input], plan: Plan, index: ResponseIndex, assembly: AssembledScores
) -> dict[str, Any]:
    metrics = []
    for spec in plan.specs:
        metric, missing = parse(spec), assembly.missing[spec]
        metrics.append(
            {
                **describe_identity(metric, index.reference_sources),
                "higher_is_better": metric.higher_is_better,
                "needs": sorted(metric.needs),
                "range": [None if abs(bound) == float("inf") else bound for bound in metric.range],
                "languages": metric.languages,
                "n": int(assembly.scores.unit_rows(spec).sum()),
                "missing": missing,
                **({"unit": "dialogue"} if metric.whole_dialogues else {}),
                **({"cut": assembly.scores.cut[spec]} if spec in assembly.scores.cut else {}),
            }
        )
    systems = {name: int((assembly.scores.system_codes == code).sum()) for name, code in index.systems.items()}
    return {
        "format": FORMAT,
        "id": identity,
        "inputs": [_describe_input(i) for i in inputs],
        "empty": plan.empty,
        "matched": plan.matched,
        "metrics": metrics,
        "counts": dict(sorted(index.counts.items())),
        "systems": systems,
        "flags": dict(assembly.scores.flags),
        "versions": {"rejoinder": rejoinder.__version__, **{name: version(name) for name in _LIBRARIES}},
    }


def describe_identity(metric: Metric, reference_sources: Iterable[str] = ()) -> dict[str, Any]:
    """Return a metric's spec and signature, and the models that it uses, if any, with their licences."""
    with record_models() as used:
        identity: dict[str, Any] = {"spec": str(metric), "signature": signature(metric, reference_sources)}
    return identity | ({"models": [use.to_json() for use in used]} if used else {})


def _describe_input(source: Input) -> dict[str, Any]:
    about: dict[str, Any] = {"name": source.name, "sha256": source.digest, "bytes": source.size}
    if source.imported_as is not None:
        about |= {"imported_as": source.imported_as, "left_out": source.left_out}
        about |= {"columns": source.columns} if source.columns else {}
        about |= {"not_used": sorted(source.tally.unused)} if source.tally.unused else {}
        about |= {"remarks": source.tally.remarks} if source.tally.remarks else {}
    if source.settings:
        about["options"] = orjson.loads(source.settings)
    return about


def describe_stored_import(about: Mapping[str, Any]) -> str:
    """Return one line about an input of a run that was in another format, from its entry in ``run.json``."""
    tally = ImportTally(
        left_out=Counter(about["left_out"]), unused=set(about.get("not_used", ())), remarks=about.get("remarks", [])
    )
    return describe_import(about["name"], about["imported_as"], about.get("columns", ""), tally.describe_rest())


def _describe_timings(
    start: float, engine: Engine, plan: Plan, done: Sequence[ComputedChunk], requests: Mapping[str, int]
) -> dict[str, Any]:
    seconds = [sum(d.seconds[i] for d in done) for i in range(len(plan.specs))]
    cached = [sum(d.columns[i].cached for d in done) for i in range(len(plan.specs))]
    return {
        "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start)),
        "seconds": round(time.time() - start, 3),
        "engine": engine.name,
        "processes": engine.workers,
        "failures": engine.counts.failures,
        "retries": engine.counts.retries,
        **({"requests": dict(requests)} if requests else {}),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "metrics": {
            spec: {"seconds": round(s, 3), "chunks": len(done), "chunks_from_cache": f}
            for spec, s, f in zip(plan.specs, seconds, cached, strict=True)
        },
    }


def load(folder: str | Path | Run | Scores) -> Scores:
    """Return the scores of a finished run.

    - ``folder``: the run folder, or a run; scores are returned unchanged.

    >>> import rejoinder
    >>> rejoinder.load("RUN").systems
    ['attentive', 'plain', 'drifter', 'parrot']
    """
    from rejoinder.scoring.reader import load_scores

    if isinstance(folder, Run | Scores):
        return folder if isinstance(folder, Scores) else folder.scores
    return load_scores(Path(folder), read_run_about(Path(folder)))
