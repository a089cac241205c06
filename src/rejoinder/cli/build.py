"""``rejoinder build``: build response-selection test sets with well-chosen false candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    engine_options,
    output_option,
    project_output,
    records_output,
    seed_option,
    settings_options,
    sheet_output,
    table_format_option,
)
from rejoinder.selection.settings import JUDGE, SOURCES, WITHOUT_VECTORS, SelectionSettings, parse_reply_position

if TYPE_CHECKING:
    from rejoinder.cli._progress import ProgressReporter
    from rejoinder.engines.base import Engine
    from rejoinder.selection.acceptability import Acceptability
    from rejoinder.selection.build import BuiltTestSet, PoolSet
    from rejoinder.table import Table

GROUP = _help.TEST_SETS
RESUMABLE = "always"

Result = TypeVar("Result")


@dataclass(frozen=True)
class BuildOptions:
    """The options of ``rejoinder build`` beside its output and the settings of the set."""

    dialogues: tuple[str, ...]
    repository: tuple[str, ...]
    not_in: tuple[str, ...]
    judge_with: str | None
    acceptability: str | None
    write_csv: str | None
    write_project: str | None
    pools: str | None
    people: str | None
    measure_acceptability: bool
    processes: int | None
    engine: str
    address: str | None
    form: str


@click.command(short_help="Build a test set with well-chosen false candidates")
@click.argument("set_", metavar="[SET.jsonl]", required=False)
@output_option(click.Path(), "The test set to write (SET.jsonl).", metavar="SET.jsonl")
@click.option("--from", "dialogues", multiple=True, metavar="FILE", help="Dialogues to make questions from.")
@click.option("--repository", multiple=True, metavar="FILE", help="Dialogues or utterances to find candidates in.")
@click.option("--not-in", multiple=True, metavar="FILE", help="Training data of systems: nothing in it is used.")
@settings_options(SelectionSettings, "questions", "context_turns", "position")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SPEC",
    help="Where candidates come from, e.g. \"bm25(query='reply')\" [bm25 and sif].",
)
@settings_options(SelectionSettings, "pool", "share", "false")
@click.option("--judge-with", metavar="SPEC", help="The metric of the model pass, or none [aptness(model='bi')].")
@click.option("--acceptability", metavar="FILE", help="Measurements of that metric [those of the package].")
@settings_options(SelectionSettings, "second", "least_raters", "random")
@click.option(
    "--write-csv",
    type=sheet_output,
    metavar="FILE",
    help="Write pools and a sheet for people to score, and no set yet.",
)
@click.option(
    "--write-project",
    type=project_output,
    metavar="FILE",
    help="Write pools and a project for rejoinder annotate, and no set yet.",
)
@click.option("--pools", metavar="FILE", help="Make the set from pools that were written earlier.")
@click.option("--people", metavar="FILE", help="People's judgements: the sheet, ratings in JSONL, or PROJECT.toml.")
@click.option("--measure-acceptability", is_flag=True, help="Measure the judge on DailyDialog++, and write the result.")
@seed_option
@engine_options("1 on this machine, all of a cluster")
@table_format_option
def command(set_: str | None, output: str | None, **values: Any) -> None:
    """Build a test set: for each context and true reply, false candidates that resemble the reply but do not fit.

    FILE is JSONL, dataset:NAME, or (for a repository) a .txt file with one utterance per line; FILE@SPLIT or
    FILE@SPLIT+SPLIT means these splits of it. SET.card.json and SET.card.md are written beside SET.jsonl. SET.jsonl may
    also be given without -o.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.selection.worker import resolve_judge

    if (set_ is None) == (output is None):
        raise click.UsageError("name the test set to write once, with -o SET.jsonl")
    chosen = {one.name: values.pop(one.name) for one in fields(SelectionSettings) if one.name in values}
    path, options = output or set_ or "", BuildOptions(**values)
    if options.measure_acceptability:
        write_judge_measurements(path, options.judge_with or JUDGE, options.form)
        return
    records_output().check(path)
    check_options(options, chosen["random"])
    settings = make_settings(chosen, options)
    acceptability = resolve_judge(settings, path=options.acceptability)
    if not chosen["sources"] and settings.sources == WITHOUT_VECTORS:  # not what the help says
        note = "candidates come from bm25 and dense, since sif needs word vectors: rejoinder models get glove-6b-50d"
        click.echo(note, err=True)
    with open_pool_engine(options, path) as engine:
        if options.write_csv or options.write_project:
            with show_progress("finding candidates", "items", engine) as reporter:
                pools = find_or_read_pools(settings, acceptability, options, reporter)
            write_for_people(pools, path, options)
            reporter.print_summary(len(pools.questions), "pools")
        else:
            with show_progress("finding candidates", "items", engine) as reporter:
                built = make_set(settings, acceptability, options, reporter)
            write_set(built, path, options.form)
            reporter.print_summary(len(built.questions), "questions", Path(path))


def make_settings(chosen: Mapping[str, Any], options: BuildOptions) -> SelectionSettings:
    """Return the settings of the test set, from what was chosen for its fields."""
    judge = options.judge_with or JUDGE
    position = parse_reply_position(chosen["position"])
    sources = chosen["sources"] or default_sources(chosen["random"] or bool(options.pools))
    return SelectionSettings(
        **{**chosen, "position": position, "sources": sources, "judge": None if judge == "none" else judge}
    )


def default_sources(unused: bool) -> tuple[str, ...]:
    """Return the default sources: words and word vectors, or the embedded encoder if there are no word vectors."""
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.catalog.manifest import is_model_available

    return SOURCES if unused or is_model_available(MODELS["glove-6b-50d"]) else WITHOUT_VECTORS


def check_options(options: BuildOptions, at_random: bool) -> None:
    """Raise an error if options contradict each other."""
    for_people = options.write_csv or options.write_project
    if options.pools:
        if options.dialogues or options.repository or options.not_in or for_people or at_random:
            raise click.UsageError("--pools has all candidates: leave out the options that find or write pools")
        return
    if not options.dialogues or not options.repository:
        raise click.UsageError("name dialogues with --from and where to find candidates with --repository")
    if options.people and for_people:
        raise click.UsageError("first write pools for people, then read their judgements with --people")
    if at_random and (options.people or for_people):
        raise click.UsageError("a random set has no judges: leave out --random, or the options for people")


def find_or_read_pools(
    settings: SelectionSettings, acceptability: Acceptability | None, options: BuildOptions, reporter: ProgressReporter
) -> PoolSet:
    """Find the pools, or read those that were written earlier."""
    from rejoinder.selection.build import find_pools
    from rejoinder.selection.pool_files import read_pools

    if options.pools:
        return read_pools(options.pools)
    return _search_pools(find_pools, settings, acceptability, options, reporter)


def make_set(
    settings: SelectionSettings, acceptability: Acceptability | None, options: BuildOptions, reporter: ProgressReporter
) -> BuiltTestSet:
    """Build the test set."""
    from rejoinder.selection.build import build, make_questions
    from rejoinder.selection.human_scores import read_human_scores

    if options.pools or options.people:
        pools = find_or_read_pools(settings, acceptability, options, reporter)
        scores = read_human_scores(options.people, pools.questions) if options.people else None
        return make_questions(pools, settings, scores, acceptability)
    return _search_pools(build, settings, acceptability, options, reporter)


def _search_pools(
    search: Callable[..., Result],
    settings: SelectionSettings,
    acceptability: Acceptability | None,
    options: BuildOptions,
    reporter: ProgressReporter,
) -> Result:
    """Call ``build`` or ``find_pools`` with the files of the options."""
    from rejoinder.selection.worker import PoolEngine

    files = (options.dialogues, options.repository, options.not_in)
    pool_engine = reporter.engine and PoolEngine(reporter.engine, *files, options.acceptability)
    return search(
        options.dialogues,
        options.repository,
        settings,
        training=options.not_in,
        acceptability=acceptability,
        progress=reporter.progress,
        pool_engine=pool_engine,
    )


@contextmanager
def open_pool_engine(options: BuildOptions, output: str) -> Iterator[Engine | None]:
    """Open the engine that finds pools and keeps them until the set is written; None if they were found earlier."""
    from rejoinder.cli._options import choose_engine
    from rejoinder.engines.caching import caching_engine
    from rejoinder.selection.inputs import BuildInput

    if options.pools:
        yield None
        return
    files = [str(BuildInput.parse(name).name) for name in (*options.dialogues, *options.repository, *options.not_in)]
    files += [options.acceptability or "", options.judge_with or ""]
    with caching_engine(choose_engine(options.engine, options.processes, options.address), output, files) as engine:
        yield engine


def write_for_people(pools: PoolSet, output: str, options: BuildOptions) -> None:
    """Write pools with a sheet or a project."""
    from rejoinder.selection.pool_files import pools_path, write_pools, write_scoring_project
    from rejoinder.selection.sheet import write_scoring_sheet

    path = pools_path(output)
    write_pools(pools, path)
    click.echo(f"written: {path} with {len(pools.questions):,} pools", err=True)
    if options.write_csv:
        n = write_scoring_sheet(pools.questions, options.write_csv)
        click.echo(f"written: {options.write_csv} with {n:,} rows to score", err=True)
    if options.write_project:
        write_scoring_project(options.write_project, path)
        click.echo(f"written: {options.write_project}; serve it with: rejoinder annotate", err=True)
    click.echo(f"next: rejoinder build -o {output} --pools {path} --people FILE", err=True)


def write_set(built: BuiltTestSet, output: str, form: str) -> None:
    """Write a set with its cards, and print what each step left out."""
    from rejoinder.data.writer import write
    from rejoinder.selection.card import render_selection_card, selection_step_table, write_test_set_card
    from rejoinder.table import FORMATS

    write(built.questions, output)
    card, page = write_test_set_card(built.card, output, render_selection_card)
    click.echo(FORMATS[form](selection_step_table(built.card)))
    click.echo(f"written: {output}, {card.name} and {page.name}", err=True)


def write_judge_measurements(output: str, spec: str, form: str) -> None:
    """Measure a judge on DailyDialog++, and write the measurements."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.selection import acceptability_file as file
    from rejoinder.table import FORMATS

    dev, test = file.read_published_questions(file.DEV), file.read_published_questions(file.TEST)
    with progress_bar("measuring") as progress:
        acceptability = file.measure_judge(dev, test, spec, progress=progress)
    existing = file.read_acceptability(output) if Path(output).exists() else {}
    file.write_acceptability([*({**existing, acceptability.signature: acceptability}).values()], output)
    click.echo(FORMATS[form](_judge_table(acceptability)))
    click.echo(f"written: {output}; use it with --acceptability {output}", err=True)


def _judge_table(acceptability: Acceptability) -> Table:
    from rejoinder.selection.acceptability_file import acceptability_to_object
    from rejoinder.selection.card import acceptability_table

    return acceptability_table(acceptability_to_object(acceptability), [])
