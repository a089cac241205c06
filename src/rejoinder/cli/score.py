"""``rejoinder score``: score every reply of a file under every metric that is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    engine_options,
    output_option,
    page_output,
    run_output,
    table_format_option,
    table_options,
)

if TYPE_CHECKING:
    from rejoinder.cli._progress import ProgressReporter
    from rejoinder.engines.base import Engine
    from rejoinder.scoring.run import Plan, Run

GROUP = _help.SCORING
COMMON = 1
RESUMABLE = "always"


@click.command(short_help="Score every reply of a file")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="A metric, e.g. bleu or 'bleu(n=2)' or ./mine.py; may be repeated [aptness and what suits the file].",
)
@output_option(run_output(), "The run folder, or for many files an address [runs/NAME-IDENTITY].", metavar="RUN")
@click.option(
    "--empty",
    type=click.Choice(["error", "nan"]),
    default="error",
    show_default=True,
    help="How to treat an empty reply: as an error, or as NaN, which is counted.",
)
@table_options
@click.option("--matched", is_flag=True, help="Also write which reference each reply matched best.")
@table_format_option
@click.option("--report", type=page_output, metavar="FILE", help="Also write the HTML report.")
@click.option("--dialogues", is_flag=True, help="Also print the scores of whole dialogues.")
@engine_options("all cores, or 1 if models compute on a GPU")
@click.option(
    "--dry-run", is_flag=True, help="Only estimate what judges at endpoints will cost; nothing is sent or written."
)
@click.option("--budget", type=float, metavar="AMOUNT", help="Stop before requests to judges cost more than this.")
@click.option("--no-cache", is_flag=True, help="Do not read or write the score cache.")
@click.option("--parquet", is_flag=True, help="For many files: also write the scores of each as scores.parquet.")
def command(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    output: str | None,
    empty: Literal["error", "nan"],
    system: str | None,
    fields: tuple[tuple[str, str], ...],
    separator: str | None,
    sheet: str | None,
    bots: tuple[str, ...],
    repeats: Literal["same", "apart"] | None,
    chain: bool,
    markup: Literal["strip", "keep"],
    last_turn: Literal["drop", "keep"] | None,
    matched: bool,
    form: str,
    report: Path | None,
    dialogues: bool,
    processes: int | None,
    engine: str,
    address: str | None,
    dry_run: bool,
    budget: float | None,
    no_cache: bool,
    parquet: bool,
) -> None:
    """Score every reply in FILE... and write the results to a run folder.

    FILE is a table (CSV, TSV, XLSX, JSON, JSONL, Parquet) with columns such as prompt, response and model, a chat log,
    text:CONTEXTS,REPLIES for two text files line by line, records in rejoinder's schema, - for standard input, or
    dataset:NAME for a published set. NAME=FILE names the system that replied: v1=old.csv v2=new.csv. A folder or
    pattern of tables means all of them in one run, each a system of that name unless its rows name one. One of records
    or logs in JSONL or Parquet, or an address of an object store, means many files, each scored on its own. If a run is
    stopped, run the same command again to continue.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.importers import ImportOptions
    from rejoinder.data.inputs import split_system
    from rejoinder.data.inputs.folder import find_input_folder
    from rejoinder.data.remote import is_remote
    from rejoinder.data.shards.files import is_sharded
    from rejoinder.engines.factory import open_engine
    from rejoinder.errors import SpecError
    from rejoinder.metric import parse
    from rejoinder.scoring.run import Plan, run

    plan = Plan.of(metrics, empty, matched)
    options = ImportOptions(
        system=system,
        fields=fields,
        separator=separator,
        sheet=sheet,
        bots=bots,
        markup=markup,
        last_turn=last_turn,
        repeats=repeats,
        chain=chain,
    )
    if processes is None and engine == "local" and _uses_gpu(plan):
        processes = 1  # several would each start CUDA and wait for the same GPU
    if processes is None and engine == "local" and any(parse(spec).one_process for spec in plan.specs):
        processes = 1  # several would each have a copy of a large network, which uses all cores by itself
    compute_engine = open_engine(engine, processes, address)
    folders = [find_input_folder(split_system(file)[1]) for file in files]
    if any(folder is None and is_sharded(file) for file, folder in zip(files, folders, strict=True)):
        if options != ImportOptions():
            raise SpecError("--system, --field, --repeats and the like are for single files; name the files")
        if dry_run:
            from rejoinder.cli._costs import print_shard_costs

            print_shard_costs(files, plan, form)
        else:
            _score_shards(files, plan, output, compute_engine, form, parquet, budget)
        return
    if parquet or is_remote(output or ""):
        raise SpecError("--parquet and an address after -o are for many files; name a folder or a pattern of files")
    if dry_run:
        from rejoinder.cli._costs import print_costs
        from rejoinder.scoring.cost import estimate_cost

        print_costs(estimate_cost(files, plan.specs, options=options, cache=not no_cache, empty=empty), form)
        return
    with show_progress("scoring", "replies", compute_engine) as reporter:
        folder = Path(output) if output else None
        finished = run(
            files,
            plan,
            folder,
            cache=not no_cache,
            progress=reporter.progress,
            engine=compute_engine,
            options=options,
            budget=budget,
        )
    for folder_input in filter(None, folders):
        click.echo(folder_input.describe(), err=True)
    _print_run(finished, reporter, form, dialogues, report)


def _print_run(finished: Run, reporter: ProgressReporter, form: str, dialogues: bool, report: Path | None) -> None:
    """Print the scores of a run and where they are; exit with status 1 where there are none."""
    from rejoinder.cli._costs import add_costs
    from rejoinder.table import format_tables

    tables = [add_costs(finished.scores.table(), finished.about)]
    tables += [finished.scores.dialogue_table()] if dialogues else []
    click.echo(format_tables(tables, form))
    _print_provenance(finished)
    if report is not None:
        _write_report(finished.folder, report)
    if finished.fresh:
        reporter.print_summary(len(finished.scores), "replies", finished.folder)
    note = "" if finished.fresh else " (it was already finished; nothing was computed)"
    click.echo(f"results: {finished.folder}{note}", err=True)
    metrics = finished.about["metrics"]
    if empty := [metric["spec"] for metric in metrics if metric["missing"] == metric["n"]]:
        _explain_without_scores(finished.folder, empty)
        if len(empty) == len(metrics):
            raise click.exceptions.Exit(1)


def _print_provenance(finished: Run) -> None:
    """Print what each file was read as, the signature of each metric, and which are not for commercial use."""
    from rejoinder.model_use import describe_restrictions
    from rejoinder.scoring.run import describe_stored_import

    for file in finished.about["inputs"]:
        if "imported_as" in file:
            click.echo(describe_stored_import(file), err=True)
    for spec, signature in finished.scores.metrics.items():
        click.echo(f"{spec}: {signature}", err=True)
    for sentence in describe_restrictions(finished.about["metrics"]):
        click.echo(sentence, err=True)
    _print_answers([{one["spec"]: one["answers"] for one in finished.about["metrics"] if "answers" in one}])


def _write_report(folder: Path, file: Path) -> None:
    """Write the HTML report of a run."""
    from rejoinder.reports.output import render_report, save_report

    save_report(render_report(folder, "html"), file, folder)
    click.echo(f"report: {file}", err=True)


def _print_answers(parts: Sequence[Mapping[str, Any]]) -> None:
    """Print which answers of judges could not be read and why; ``parts`` are the summaries of a run's parts."""
    specs = dict.fromkeys(spec for part in parts for spec in part)
    if not specs:
        return
    from rejoinder.judges.answer_summary import add_summaries, describe_summary

    for spec in specs:
        name = spec if len(specs) > 1 else spec.partition("(")[0]
        for sentence in describe_summary(add_summaries([part[spec] for part in parts if spec in part])):
            click.echo(f"{name}: {sentence}", err=True)


def _explain_without_scores(folder: Path, specs: Sequence[str]) -> None:
    """Print why no reply of a run has a score under some metrics."""
    from rejoinder.reports.findings import load_outcomes
    from rejoinder.reports.missing import explain_missing_scores
    from rejoinder.scoring.reader import load_data
    from rejoinder.scoring.run import load

    scores, data, outcomes = load(folder), load_data(folder), load_outcomes(folder)
    reasons = ", ".join(f"{spec} ({explain_missing_scores(scores, data, spec, outcomes)})" for spec in specs)
    click.echo(f"rejoinder: none of {len(scores):,} replies has a score under {reasons}", err=True)


def _uses_gpu(plan: Plan) -> bool:
    """Whether models of a plan compute on a GPU; a metric without a model is exact and has no ``decimals``."""
    from rejoinder.metric import parse
    from rejoinder.models.device import graph_backend

    metrics = [parse(spec) for spec in plan.specs]
    return (not metrics or any(metric.decimals is not None for metric in metrics)) and graph_backend().device == "cuda"


def _score_shards(
    files: tuple[str, ...],
    plan: Plan,
    output: str | None,
    engine: Engine,
    form: str,
    parquet: bool,
    budget: float | None,
) -> None:
    """Score many files, each on its own."""
    from rejoinder.cli._costs import add_shard_costs
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.remote import is_remote, redact_address
    from rejoinder.data.shards.files import list_data_files
    from rejoinder.files import sha256_of_bytes
    from rejoinder.metric import parse
    from rejoinder.model_use import describe_restrictions
    from rejoinder.scoring.run import describe_identity
    from rejoinder.scoring.sharded.run import score_shards
    from rejoinder.table import FORMATS

    shards = [shard for file in files for shard in list_data_files(file)]
    identity = sha256_of_bytes(repr((plan, sorted(files))).encode())[:8]
    folder = output or str(
        Path("runs") / f"{Path(redact_address(files[0]).rstrip('/')).name.replace('*', 'all') or 'shards'}-{identity}"
    )
    unit = "replies" if all(shard.responses is not None for shard in shards) else "bytes"
    with show_progress("scoring", unit, engine) as reporter:
        finished = score_shards(shards, plan, folder, engine, reporter.progress, parquet, budget)
    click.echo(FORMATS[form](add_shard_costs(finished)))
    for sentence in describe_restrictions(map(describe_identity, map(parse, plan.specs))):
        click.echo(sentence, err=True)
    _print_answers([shard.get("answers", {}) for shard in finished.shards])
    n = sum(int(shard["responses"]) for shard in finished.shards)
    fresh = sum(bool(shard["fresh"]) for shard in finished.shards)
    size = sum(int(shard["stored"]) for shard in finished.shards)
    reporter.print_summary(n, "replies", size, f" of {len(shards):,} shards ({fresh:,} scored now)")
    click.echo(f"results: {redact_address(folder)}", err=True)
    if not any(total.n for by_spec in finished.sums.values() for total in by_spec.values()):
        if not is_remote(folder):
            _explain_without_scores(Path(folder), plan.specs)
            raise click.exceptions.Exit(1)
        click.echo(
            f"rejoinder: none of {n:,} replies has a score; copy the run here and see why with: rejoinder report COPY",
            err=True,
        )
        raise click.exceptions.Exit(1)
