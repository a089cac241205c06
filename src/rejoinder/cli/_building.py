"""The steps of ``rejoinder build``: from what was typed to what is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

if TYPE_CHECKING:
    from rejoinder.cli._progress import Watch
    from rejoinder.engines.contract import Engine
    from rejoinder.report.table import Table
    from rejoinder.selection.acceptability import Acceptability
    from rejoinder.selection.building import Built, Pools
    from rejoinder.selection.by_engine import Elsewhere
    from rejoinder.selection.people import Scores
    from rejoinder.selection.settings import Settings
    from rejoinder.types import Question

Options: TypeAlias = Mapping[str, Any]


def usual_sources(options: dict[str, Any]) -> tuple[str, ...]:
    """The sources where none is named: words and word vectors, or the embedded encoder where those are not here."""
    from rejoinder.models.catalog import MODELS
    from rejoinder.models.manifest import is_here
    from rejoinder.selection.settings import SOURCES, WITHOUT_VECTORS

    found = options["at_random"] or options["pools"] or is_here(MODELS["glove-6b-50d"])
    return SOURCES if found else WITHOUT_VECTORS


def tell_sources(settings: Settings, options: dict[str, Any]) -> None:
    """Say where candidates come from, where it is not what the help says."""
    from rejoinder.selection.settings import WITHOUT_VECTORS

    if not options["sources"] and settings.sources == WITHOUT_VECTORS:
        told = "candidates come from bm25 and dense, since sif needs word vectors: rejoinder models get glove-6b-50d"
        click.echo(told, err=True)


def check(options: Options) -> None:
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


def known_of(settings: Settings, path: str | None) -> Acceptability | None:
    """What is known of the judge."""
    from rejoinder.registry import parse
    from rejoinder.selection import acceptability_file as file

    if settings.judge is None or settings.random:
        return None
    return file.known_of(parse(settings.judge), file.SHIPPED if path is None else path)


def find(settings: Settings, known: Acceptability | None, options: Options, watch: Watch) -> Pools:
    """The pools that the options ask for, found or read."""
    from rejoinder.selection.building import find_pools
    from rejoinder.selection.pool_files import read_pools

    if options["pools"]:
        return read_pools(options["pools"])
    around = _around(options, watch.engine)
    return find_pools(*_inputs(options), settings, **around, known=known, progress=watch.progress)


def make(settings: Settings, known: Acceptability | None, options: Options, watch: Watch) -> Built:
    """The test set that the options ask for."""
    from rejoinder.selection.building import build, make_questions

    if options["pools"] or options["people"]:
        pools = find(settings, known, options, watch)
        scores = said(options["people"], pools.questions) if options["people"] else None
        return make_questions(pools, settings, scores, known)
    around = _around(options, watch.engine)
    return build(*_inputs(options), settings, **around, known=known, progress=watch.progress)


def said(path: str, pools: Sequence[Question]) -> Scores:
    """What people said of pools: on a sheet, in ratings, or in an annotation project."""
    if path.lower().endswith((".csv", ".tsv")):
        from rejoinder.selection.sheet import read_sheet

        return read_sheet(path, pools)
    from rejoinder.cli import _judged
    from rejoinder.selection.people import scores_of

    return scores_of(_judged.said(path)[0], pools)


def _inputs(options: Options) -> tuple[Any, Any]:
    from rejoinder.selection import given

    named = {key: [given.Given.of(one) for one in options[key]] for key in ("dialogues", "repository")}
    return given.contexts(named["dialogues"]), given.repository(named["repository"])


def _around(options: Options, engine: Engine | None) -> dict[str, Any]:
    """What systems were trained on, and what the card says of the files."""
    from rejoinder.selection import given

    roles = {"dialogues": "dialogues", "repository": "repository", "not_in": "training"}
    named = {key: [given.Given.of(one) for one in options[key]] for key in roles}
    facts = [one.facts(role) for key, role in roles.items() for one in named[key]]
    around = {"training": given.training(named["not_in"]), "inputs": facts}
    return around | {"elsewhere": _elsewhere(options, engine)}


@contextmanager
def engine(options: Options, out: str) -> Iterator[Engine | None]:
    """Who finds pools and keeps them until the set is made; nobody where they were found before."""
    from rejoinder.cli._options import engine_of
    from rejoinder.engines.keeping import keeping
    from rejoinder.selection.given import Given

    if options["pools"]:
        yield None
        return
    named = [one for key in ("dialogues", "repository", "not_in") for one in options[key]]
    files = [str(Given.of(one).name) for one in named] + [options["acceptability"] or "", options["judge_with"] or ""]
    with keeping(engine_of(options["engine"], options["processes"], options["address"]), out, files) as computing:
        yield computing


def _elsewhere(options: Options, engine: Engine | None) -> Elsewhere | None:
    """The engine, where one was asked for, and what its workers need."""
    from rejoinder.selection.by_engine import Elsewhere

    if engine is None:
        return None
    dialogues, repository, training = (tuple(options[key]) for key in ("dialogues", "repository", "not_in"))
    return Elsewhere(engine, dialogues, repository, training, options["acceptability"])


def write_for_people(pools: Pools, out: str, options: Options) -> None:
    """Write pools with a sheet or a project."""
    from rejoinder.selection.pool_files import pools_path, write_pools, write_project
    from rejoinder.selection.sheet import write_sheet

    path = pools_path(out)
    write_pools(pools, path)
    click.echo(f"written: {path} with {len(pools.questions):,} pools", err=True)
    if options["write_csv"]:
        n = write_sheet(pools.questions, options["write_csv"])
        click.echo(f"written: {options['write_csv']} with {n:,} rows to score", err=True)
    if options["write_project"]:
        write_project(options["write_project"], path)
        click.echo(f"written: {options['write_project']}; serve it with: rejoinder annotate", err=True)
    click.echo(f"then: rejoinder build {out} --pools {path} --people FILE", err=True)


def write_set(built: Built, out: str, form: str) -> None:
    """Write a set with its cards, and show what became of everything."""
    from rejoinder.data.writing import write
    from rejoinder.report.table import FORMATS
    from rejoinder.selection.card_page import step_table, write_card

    write(built.questions, out)
    machine, page = write_card(built.card, out)
    click.echo(FORMATS[form](step_table(built.card)))
    click.echo(f"written: {out}, {machine.name} and {page.name}", err=True)


def measure(out: str, spec: str, form: str) -> None:
    """Measure a judge on DailyDialog++, and write what came of it."""
    from rejoinder.cli._progress import progress_bar
    from rejoinder.report.table import FORMATS
    from rejoinder.selection import acceptability_file as file

    dev, test = file.published(file.DEV), file.published(file.TEST)
    with progress_bar("measuring") as progress:
        found = file.measure(dev, test, spec, progress=progress)
    known = file.read_acceptability(out) if Path(out).exists() else {}
    file.write_acceptability([*({**known, found.metric: found}).values()], out)
    click.echo(FORMATS[form](_table(found)))
    click.echo(f"written: {out}; use it with --acceptability {out}", err=True)


def _table(found: Acceptability) -> Table:
    from rejoinder.selection.acceptability_file import to_object
    from rejoinder.selection.card_page import acceptability_table

    return acceptability_table(to_object(found), [])
