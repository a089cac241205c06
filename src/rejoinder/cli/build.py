"""``rejoinder build``: response-selection test sets with well-chosen false candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from rejoinder.cli._options import (
    engine_options,
    project_output,
    records_output,
    seed_option,
    sheet_output,
    table_format_option,
)

if TYPE_CHECKING:
    from rejoinder.cli._progress import ProgressReporter
    from rejoinder.engines.base import Engine
    from rejoinder.selection.acceptability import Acceptability
    from rejoinder.selection.build import BuiltTestSet, PoolSet
    from rejoinder.selection.human_scores import HumanScores
    from rejoinder.selection.settings import SelectionSettings
    from rejoinder.selection.worker import PoolEngine
    from rejoinder.table import Table
    from rejoinder.types import Question


@click.command(short_help="Response-selection test sets with well-chosen false candidates")
@click.argument("out", metavar="SET.jsonl")
@click.option("--from", "dialogues", multiple=True, metavar="FILE", help="Dialogues to make questions of.")
@click.option("--repository", multiple=True, metavar="FILE", help="Dialogues or utterances to find candidates in.")
@click.option("--not-in", multiple=True, metavar="FILE", help="What systems were trained on: nothing of it is used.")
@click.option("--questions", type=click.IntRange(min=1), metavar="N", help="How many questions [all that can be had].")
@click.option("--context-turns", type=click.IntRange(min=1), default=3, show_default=True, help="Turns of context.")
@click.option("--position", default="first", show_default=True, help="The true reply: first, last, random, or a turn.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SPEC",
    help="Where candidates come from, e.g. \"bm25(query='reply')\" [bm25 and sif].",
)
@click.option("--pool", type=click.IntRange(min=1), default=10, show_default=True, help="Utterances found a question.")
@click.option("--share", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Part of the repository used.")
@click.option("--false", "n_false", type=click.IntRange(min=1), default=3, show_default=True, help="False candidates.")
@click.option("--judge-with", metavar="SPEC", help="The metric of the model pass, or none [aptness(model='bi')].")
@click.option("--acceptability", metavar="FILE", help="What is known of that metric [what the package knows].")
@click.option("--second", type=click.Choice(["people", "model", "none"]), default="people", show_default=True)
@click.option("--least-raters", type=click.IntRange(min=1), default=3, show_default=True, help="Fewer decide nothing.")
@click.option("--random", "at_random", is_flag=True, help="Draw false candidates at random, and let nobody judge.")
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
@click.option("--pools", metavar="FILE", help="Make the set of pools that were written before.")
@click.option("--people", metavar="FILE", help="What people said: the sheet, ratings in JSONL, or PROJECT.toml.")
@click.option("--measure-acceptability", is_flag=True, help="Measure the judge on DailyDialog++, and write that.")
@seed_option
@engine_options("1 here, all of a cluster")
@table_format_option
def command(out: str, **options: Any) -> None:
    """Build a test set: for each context and true reply, false candidates that are like the reply and do not fit.

    FILE is JSONL, dataset:NAME, or (of a repository) a .txt with an utterance on each line; FILE@SPLIT or
    FILE@SPLIT+SPLIT means these splits of it. Beside SET.jsonl stand SET.card.json and SET.card.md.
    """
    from rejoinder.cli._progress import show_progress
    from rejoinder.selection.settings import JUDGE, SelectionSettings, parse_position

    judge = options["judge_with"] or JUDGE
    if options["measure_acceptability"]:
        measure_judge(out, judge, options["form"])
        return
    records_output().check(out)
    check_options(options)
    settings = SelectionSettings(
        context_turns=options["context_turns"],
        position=parse_position(options["position"]),
        sources=options["sources"] or default_sources(options),
        pool=options["pool"],
        share=options["share"],
        false=options["n_false"],
        judge=None if judge == "none" else judge,
        second=options["second"],
        least_raters=options["least_raters"],
        questions=options["questions"],
        random=options["at_random"],
        seed=options["seed"],
    )
    known = load_acceptability(settings, options["acceptability"])
    print_sources(settings, options)
    for_people = options["write_csv"] or options["write_project"]
    with open_pool_engine(options, out) as engine:
        with show_progress("finding candidates", "items", engine) as watch:
            found = find_or_read_pools(settings, known, options, watch) if for_people else None
            built = make_set(settings, known, options, watch) if found is None else None
        if found is not None:
            write_for_people(found, out, options)
            watch.tell(len(found.questions), "pools")
        if built is not None:
            write_set(built, out, options["form"])
            watch.tell(len(built.questions), "questions", Path(out))


BuildOptions: TypeAlias = Mapping[str, Any]


def default_sources(options: dict[str, Any]) -> tuple[str, ...]:
    """The sources where none is named: words and word vectors, or the embedded encoder where those are not here."""
    from rejoinder.models.catalog.entries import MODELS
    from rejoinder.models.catalog.manifest import is_available
    from rejoinder.selection.settings import SOURCES, WITHOUT_VECTORS

    found = options["at_random"] or options["pools"] or is_available(MODELS["glove-6b-50d"])
    return SOURCES if found else WITHOUT_VECTORS


def print_sources(settings: SelectionSettings, options: dict[str, Any]) -> None:
    """Say where candidates come from, where it is not what the help says."""
    from rejoinder.selection.settings import WITHOUT_VECTORS

    if not options["sources"] and settings.sources == WITHOUT_VECTORS:
        told = "candidates come from bm25 and dense, since sif needs word vectors: rejoinder models get glove-6b-50d"
        click.echo(told, err=True)


def check_options(options: BuildOptions) -> None:
    """Raise where options cannot be meant together."""
    if options["pools"]:
        for name in ("dialogues", "repository", "not_in", "write_csv", "write_project", "at_random"):
            if options[name]:
                raise click.UsageError("--pools has all that was found: leave out what says how to find or write pools")
        return
    if not options["dialogues"] or not options["repository"]:
        raise click.UsageError("name dialogues with --from and where to find candidates with --repository")
    if options["people"] and (options["write_csv"] or options["write_project"]):
        raise click.UsageError("first write pools for people, then read what they said with --people")
    if options["at_random"] and (options["people"] or options["write_csv"] or options["write_project"]):
        raise click.UsageError("nobody judges a random set: leave out --random, or what is for people")


def load_acceptability(settings: SelectionSettings, path: str | None) -> Acceptability | None:
    """What is known of the judge."""
    from rejoinder.metric import parse
    from rejoinder.selection import acceptability_file as file

    if settings.judge is None or settings.random:
        return None
    return file.load_acceptability(parse(settings.judge), file.SHIPPED if path is None else path)


def find_or_read_pools(
    settings: SelectionSettings, known: Acceptability | None, options: BuildOptions, watch: ProgressReporter
) -> PoolSet:
    """The pools that the options ask for, found or read."""
    from rejoinder.selection.build import find_pools
    from rejoinder.selection.pool_files import read_pools

    if options["pools"]:
        return read_pools(options["pools"])
    around = _inputs(options, watch.engine)
    return find_pools(settings=settings, **around, known=known, progress=watch.progress)


def make_set(
    settings: SelectionSettings, known: Acceptability | None, options: BuildOptions, watch: ProgressReporter
) -> BuiltTestSet:
    """The test set that the options ask for."""
    from rejoinder.selection.build import build, make_questions

    if options["pools"] or options["people"]:
        pools = find_or_read_pools(settings, known, options, watch)
        scores = read_people_scores(options["people"], pools.questions) if options["people"] else None
        return make_questions(pools, settings, scores, known)
    around = _inputs(options, watch.engine)
    return build(settings=settings, **around, known=known, progress=watch.progress)


def read_people_scores(path: str, pools: Sequence[Question]) -> HumanScores:
    """What people said of pools: on a sheet, in ratings, or in an annotation project."""
    if path.lower().endswith((".csv", ".tsv")):
        from rejoinder.selection.sheet import read_sheet

        return read_sheet(path, pools)
    from rejoinder.annotation.judgements import read_judged_records
    from rejoinder.selection.human_scores import collect_scores

    return collect_scores(read_judged_records(path).records, pools)


def _inputs(options: BuildOptions, engine: Engine | None) -> dict[str, Any]:
    """What a set is built from, and who finds the pools."""
    return {
        "dialogues": options["dialogues"],
        "repository": options["repository"],
        "training": options["not_in"],
        "elsewhere": _engine_setup(options, engine),
    }


@contextmanager
def open_pool_engine(options: BuildOptions, out: str) -> Iterator[Engine | None]:
    """Who finds pools and keeps them until the set is made; nobody where they were found before."""
    from rejoinder.cli._options import choose_engine
    from rejoinder.engines.caching import caching_engine
    from rejoinder.selection.inputs import BuildInput

    if options["pools"]:
        yield None
        return
    named = [one for key in ("dialogues", "repository", "not_in") for one in options[key]]
    files = [str(BuildInput.of(one).name) for one in named] + [
        options["acceptability"] or "",
        options["judge_with"] or "",
    ]
    with caching_engine(
        choose_engine(options["engine"], options["processes"], options["address"]), out, files
    ) as computing:
        yield computing


def _engine_setup(options: BuildOptions, engine: Engine | None) -> PoolEngine | None:
    """The engine, where one was asked for, and what its workers need."""
    from rejoinder.selection.worker import PoolEngine

    if engine is None:
        return None
    dialogues, repository, training = (tuple(options[key]) for key in ("dialogues", "repository", "not_in"))
    return PoolEngine(engine, dialogues, repository, training, options["acceptability"])


def write_for_people(pools: PoolSet, out: str, options: BuildOptions) -> None:
    """Write pools with a sheet or a project."""
    from rejoinder.selection.pool_files import pools_path, write_pools, write_scoring_project
    from rejoinder.selection.sheet import write_sheet

    path = pools_path(out)
    write_pools(pools, path)
    click.echo(f"written: {path} with {len(pools.questions):,} pools", err=True)
    if options["write_csv"]:
        n = write_sheet(pools.questions, options["write_csv"])
        click.echo(f"written: {options['write_csv']} with {n:,} rows to score", err=True)
    if options["write_project"]:
        write_scoring_project(options["write_project"], path)
        click.echo(f"written: {options['write_project']}; serve it with: rejoinder annotate", err=True)
    click.echo(f"then: rejoinder build {out} --pools {path} --people FILE", err=True)


def write_set(built: BuiltTestSet, out: str, form: str) -> None:
    """Write a set with its cards, and show what became of everything."""
    from rejoinder.data.writer import write
    from rejoinder.selection.card import step_table, write_card
    from rejoinder.table import FORMATS

    write(built.questions, out)
    machine, page = write_card(built.card, out)
    click.echo(FORMATS[form](step_table(built.card)))
    click.echo(f"written: {out}, {machine.name} and {page.name}", err=True)


def measure_judge(out: str, spec: str, form: str) -> None:
    """Measure a judge on DailyDialog++, and write what came of it."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.selection import acceptability_file as file
    from rejoinder.table import FORMATS

    dev, test = file.read_published_questions(file.DEV), file.read_published_questions(file.TEST)
    with progress_bar("measuring") as progress:
        found = file.measure_judge(dev, test, spec, progress=progress)
    known = file.read_acceptability(out) if Path(out).exists() else {}
    file.write_acceptability([*({**known, found.metric: found}).values()], out)
    click.echo(FORMATS[form](_judge_table(found)))
    click.echo(f"written: {out}; use it with --acceptability {out}", err=True)


def _judge_table(found: Acceptability) -> Table:
    from rejoinder.selection.acceptability_file import acceptability_to_object
    from rejoinder.selection.card import acceptability_table

    return acceptability_table(acceptability_to_object(found), [])
