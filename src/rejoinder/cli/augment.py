"""``rejoinder augment``: add references to every item, from a corpus, common sense and paraphrases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    choose_engine,
    engine_options,
    input_options,
    records_output_option,
    seed_option,
    sheet_output,
    table_format_option,
)

if TYPE_CHECKING:
    from rejoinder.augmentation.plan import AugmentationPlan
    from rejoinder.data.inputs import Input
    from rejoinder.engines.base import Engine
    from rejoinder.types import Record

GROUP = _help.TEST_SETS
RESUMABLE = "with output"


@click.command(short_help="Add references to every item")
@click.argument("items")
@records_output_option(required=False)
@click.option("--corpus", metavar="FILE", help="Dialogues to retrieve from: JSONL or dataset:NAME [those of ITEMS].")
@click.option("--split", metavar="NAME", help="Only the corpus's dialogues of this split [all].")
@click.option("--retrieval", default="bm25", show_default=True, metavar="SPEC", help="bm25, dense, hybrid or none.")
@click.option(
    "--retrieved", type=click.IntRange(min=1), metavar="N", help="How many texts to retrieve per item [twice -k]."
)
@click.option(
    "--knowledge",
    multiple=True,
    metavar="FILE",
    help="A knowledge file (ATOMIC or ConceptNet) or dataset:knowledge/NAME; may be repeated.",
)
@click.option("--skip-broken", is_flag=True, help="Skip broken lines of knowledge files, and count them.")
@click.option("--comet/--no-comet", default=None, help="Inferences by our own COMET [if its model is on this machine].")
@click.option("--comet-model", metavar="NAME", help="Another COMET model: a folder, or comet (from a hub).")
@click.option("--paraphrase", metavar="SPEC", help="Also paraphrase the references, e.g. rewording [none].")
@click.option(
    "--adapt",
    type=click.IntRange(min=0),
    metavar="N",
    help="Adapt N texts to their context; texts adapted earlier do not count.",
)
@click.option("--adaptation", default="delorean", show_default=True, metavar="SPEC", help="How texts are adapted.")
@click.option("-k", type=click.IntRange(min=0), default=20, show_default=True, help="The most new references per item.")
@click.option(
    "--least-aptness",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="X",
    help="Leave out texts with a lower aptness, and say how many; 0 keeps all.",
)
@click.option(
    "--review",
    type=sheet_output,
    metavar="FILE.csv",
    help="Also write a sheet in which people accept, edit or reject references.",
)
@click.option("--reviewed", metavar="FILE.csv", help="Apply the decisions in that sheet, and propose nothing.")
@seed_option
@engine_options("1 on this machine, all of a cluster")
@table_format_option
@input_options()
def command(
    items: str,
    output: str,
    corpus: str | None,
    split: str | None,
    retrieval: str,
    retrieved: int | None,
    knowledge: tuple[str, ...],
    skip_broken: bool,
    comet: bool | None,
    comet_model: str | None,
    paraphrase: str | None,
    adapt: int | None,
    adaptation: str,
    k: int,
    least_aptness: float,
    review: str | None,
    reviewed: str | None,
    seed: int,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Add references to every item in ITEMS, each with its source, its score and its origin.

    The references that an item already has stay first and unchanged; other records pass through. Without --corpus the
    dialogues of ITEMS themselves are searched. Nothing is downloaded: if the model of COMET is not on this machine, a
    message says so and COMET is left out.
    """
    from rejoinder.augmentation.adaptation import parse_delorean as parse_adaptation
    from rejoinder.augmentation.plan import AugmentationPlan, parse_retrieval
    from rejoinder.engines.caching import caching_engine

    if reviewed is not None:
        if review or corpus or knowledge or comet or comet_model or paraphrase or adapt is not None:
            raise click.UsageError("--reviewed proposes nothing: leave out --review and all options that name a source")
        _apply_review(items, reviewed, output)
        return
    if review == output:
        raise click.UsageError(f"the items and the review cannot both be written to {output!r}; name two files")
    plan = AugmentationPlan(
        corpus,
        parse_retrieval(retrieval),
        retrieved,
        split,
        knowledge,
        skip_broken,
        comet,
        comet_model,
        paraphrase,
        adapt=adapt,
        delorean=parse_adaptation(adaptation),
        k=k,
        least_aptness=least_aptness,
        seed=seed,
    )
    inputs = [name for name in (items, corpus, comet_model, *knowledge) if name is not None]
    with caching_engine(choose_engine(engine, processes, address), output, inputs) as compute_engine:
        _augment_file(items, plan, output, review, form, compute_engine)


def _augment_file(
    items: str, plan: AugmentationPlan, output: str, review: str | None, form: str, engine: Engine
) -> None:
    from rejoinder.augmentation.augment import augment_records, open_items
    from rejoinder.augmentation.review import write_review
    from rejoinder.augmentation.summary import AugmentationTally
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.writer import write
    from rejoinder.table import FORMATS

    tally = AugmentationTally()
    with open_items(items) as (data, total), show_progress("augmenting", "items", engine) as reporter:
        records = augment_records(_read_records(data), plan, lambda note: click.echo(note, err=True), tally, engine)
        records = _report_progress(records, total, reporter.progress)
        write(write_review(records, review) if review is not None else records, output)
    if plan.k:
        click.echo(FORMATS[form](tally.table(plan.k)), err=output == "-")
    if output != "-":
        click.echo(f"written: {output}" + (f" and {review}" if review else ""), err=True)
    reporter.print_summary(total, "items", Path(output) if output != "-" else None)


def _apply_review(items: str, reviewed: str, output: str) -> None:
    from collections import Counter

    from rejoinder.augmentation.augment import open_items
    from rejoinder.augmentation.review import apply_review
    from rejoinder.data.writer import write

    decisions: Counter[str] = Counter()
    with open_items(items) as (data, _):
        write(apply_review(_read_records(data), reviewed, decisions), output)
    accepted, edited, rejected = (decisions[word] for word in ("accept", "edit", "reject"))
    click.echo(f"{accepted:,} references accepted, {edited:,} edited, {rejected:,} rejected", err=True)


def _read_records(data: Input) -> Iterator[Record]:
    return (record for record, _ in data.records(allow_empty=True))


def _report_progress(
    records: Iterable[Record], total: int, progress: Callable[[int, int], None] | None
) -> Iterator[Record]:
    from rejoinder.types import Item

    done = 0
    for record in records:
        done += isinstance(record, Item)
        if progress is not None:
            progress(done, total)
        yield record
