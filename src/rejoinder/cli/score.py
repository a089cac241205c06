"""``rejoinder score``: every reply of a file under every metric asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from rejoinder.cli._options import engine_options, page_output, run_output, table_format_option

if TYPE_CHECKING:
    from rejoinder.engines.base import Engine
    from rejoinder.scoring.run import Plan


@click.command(short_help="Score every reply of a file")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="A metric, e.g. bleu or 'bleu(n=2)' or ./mine.py; may be repeated [aptness and what the file allows].",
)
@click.option(
    "-o",
    "--out",
    type=run_output(),
    metavar="RUN",
    help="The run folder, or for many files its address too [runs/NAME-IDENTITY].",
)
@click.option(
    "--empty",
    type=click.Choice(["error", "nan"]),
    default="error",
    show_default=True,
    help="What an empty reply is: an error, or a counted NaN.",
)
@click.option("--matched", is_flag=True, help="Also say which reference each reply matched best.")
@table_format_option
@click.option("--report", type=page_output, metavar="FILE", help="Also write the HTML report.")
@click.option("--dialogues", is_flag=True, help="Also print the scores of whole dialogues.")
@engine_options("all cores, one where models compute on a GPU")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the score cache.")
@click.option("--parquet", is_flag=True, help="Of many files: also keep the scores of each as scores.parquet.")
def command(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    out: str | None,
    empty: Literal["error", "nan"],
    matched: bool,
    form: str,
    report: Path | None,
    dialogues: bool,
    processes: int | None,
    engine: str,
    address: str | None,
    no_cache: bool,
    parquet: bool,
) -> None:
    """Score every reply in FILE... and keep everything in a run folder.

    FILE is JSONL (gzip or not) or Parquet in rejoinder's schema, an OpenAI-style chat log, - for standard input, or
    dataset:NAME for a published set; a folder, a pattern or an address of an object store means many files, each scored
    by itself. A run that was stopped goes on where it was when the same command is given again.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import is_remote
    from rejoinder.data.shards.files import is_sharded
    from rejoinder.engines.factory import open_engine
    from rejoinder.errors import SpecError
    from rejoinder.reports.output import format_tables
    from rejoinder.scoring.run import Plan, run

    plan = Plan.of(metrics, empty, matched)
    if processes is None and engine == "local" and _uses_gpu(plan):
        processes = 1  # several would each start CUDA, and wait for the one GPU
    computing = open_engine(engine, processes, address)
    if any(is_sharded(one) for one in files):
        _score_shards(files, plan, out, computing, form, parquet)
        return
    if parquet or is_remote(out or ""):
        raise SpecError("--parquet, and an address behind -o, are for many files; name a folder or a pattern of them")
    with show_progress("scoring", "replies", computing) as watch:
        folder = Path(out) if out else None
        finished = run(files, plan, folder, cache=not no_cache, progress=watch.progress, engine=computing)
    tables = [finished.scores.table(), *([finished.scores.dialogue_table()] if dialogues else [])]
    click.echo(format_tables(tables, form))
    for given in finished.about["inputs"]:
        if "imported_as" in given:
            left_out = ", ".join(f"{reason} ({n:,})" for reason, n in given["left_out"].items()) or "nothing"
            click.echo(f"{given['name']}: read as {given['imported_as']}; left out: {left_out}", err=True)
    for spec, signature in finished.scores.metrics.items():
        click.echo(f"{spec}: {signature}", err=True)
    if report is not None:
        from rejoinder.reports.output import render_report, save_report

        save_report(render_report(finished.folder, "html"), report, finished.folder)
        click.echo(f"report: {report}", err=True)
    if finished.fresh:
        watch.tell(len(finished.scores), "replies", finished.folder)
    note = "" if finished.fresh else " (it was there already, nothing was computed)"
    click.echo(f"results: {finished.folder}{note}", err=True)
    if all(missing == len(finished.scores) for missing in (m["missing"] for m in finished.about["metrics"])):
        _fail_without_scores(finished.folder)


def _fail_without_scores(folder: Path) -> None:
    """Say why no reply of a run has a score, and end with status 1."""
    from rejoinder.reports.findings import load_outcomes
    from rejoinder.reports.missing import explain_missing
    from rejoinder.scoring.reader import load_data
    from rejoinder.scoring.run import load

    scores, data, outcomes = load(folder), load_data(folder), load_outcomes(folder)
    reasons = ", ".join(f"{spec} ({explain_missing(scores, data, spec, outcomes)})" for spec in scores.metrics)
    click.echo(f"rejoinder: none of {len(scores):,} replies has a score under {reasons}", err=True)
    raise click.exceptions.Exit(1)


def _uses_gpu(plan: Plan) -> bool:
    """Whether models of a plan compute on a GPU; metrics that no model computes are exact to the last bit."""
    from rejoinder.metric import parse
    from rejoinder.models.device import graph_backend

    metrics = [parse(spec) for spec in plan.specs]
    return (not metrics or any(one.decimals is not None for one in metrics)) and graph_backend().device == "cuda"


def _score_shards(
    files: tuple[str, ...], plan: Plan, out: str | None, engine: Engine, form: str, parquet: bool
) -> None:
    """Score many files, each by itself."""
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import is_remote, redact
    from rejoinder.data.shards.files import files_of
    from rejoinder.scoring.sharded.run import score_shards
    from rejoinder.table import FORMATS

    shards = [shard for one in files for shard in files_of(one)]
    asked = hashlib.sha256(repr((plan, sorted(files))).encode()).hexdigest()[:8]
    folder = out or str(
        Path("runs") / f"{Path(redact(files[0]).rstrip('/')).name.replace('*', 'all') or 'shards'}-{asked}"
    )
    unit = "replies" if all(shard.responses is not None for shard in shards) else "bytes"
    with show_progress("scoring", unit, engine) as watch:
        finished = score_shards(shards, plan, folder, engine, watch.progress, parquet)
    click.echo(FORMATS[form](finished.table()))
    n = sum(int(one["responses"]) for one in finished.shards)
    fresh = sum(bool(one["fresh"]) for one in finished.shards)
    size = sum(int(one["stored"]) for one in finished.shards)
    watch.tell(n, "replies", size, f" of {len(shards):,} shards ({fresh:,} scored now)")
    click.echo(f"results: {redact(folder)}", err=True)
    if not any(one.n for by_spec in finished.sums.values() for one in by_spec.values()):
        if not is_remote(folder):
            _fail_without_scores(Path(folder))
        click.echo(f"rejoinder: none of {n:,} replies has a score; rejoinder report on a copy says why", err=True)
        raise click.exceptions.Exit(1)
