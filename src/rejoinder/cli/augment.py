"""``rejoinder augment``: more references for every item, from a corpus, common sense and paraphrases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli._options import (
    choose_engine,
    engine_options,
    records_output,
    seed_option,
    sheet_output,
    table_format_option,
)

if TYPE_CHECKING:
    from rejoinder.augmentation.plan import AugmentationPlan
    from rejoinder.data.inputs import Input
    from rejoinder.engines.base import Engine
    from rejoinder.types import Record


@click.command(short_help="More references for every item")
@click.argument("items")
@click.option(
    "-o", "--out", default="-", type=records_output(), metavar="FILE", help="Where the items go [standard output]."
)
@click.option("--corpus", metavar="FILE", help="Dialogues to retrieve from: JSONL or dataset:NAME [those of ITEMS].")
@click.option("--split", metavar="NAME", help="Only the corpus's dialogues of this split [all].")
@click.option("--retrieval", default="bm25", show_default=True, metavar="SPEC", help="bm25, dense, hybrid or none.")
@click.option("--retrieved", type=click.IntRange(min=1), metavar="N", help="Texts retrieved for an item [twice -k].")
@click.option(
    "--knowledge",
    multiple=True,
    metavar="FILE",
    help="A knowledge file (ATOMIC or ConceptNet) or dataset:knowledge/NAME; may be repeated.",
)
@click.option("--skip-broken", is_flag=True, help="Leave out the broken lines of knowledge files, and count them.")
@click.option("--comet/--no-comet", default=None, help="Inferences by our own COMET [where what it needs is there].")
@click.option("--comet-model", metavar="NAME", help="Another COMET: a folder, or comet (from a hub).")
@click.option("--paraphrase", metavar="SPEC", help="Paraphrases of the references too, e.g. rewording [none].")
@click.option(
    "--adapt", type=click.IntRange(min=0), metavar="N", help="Adapt N texts to their context, and known ones."
)
@click.option("--adaptation", default="delorean", show_default=True, metavar="SPEC", help="How texts are adapted.")
@click.option("-k", type=click.IntRange(min=0), default=20, show_default=True, help="References an item gets at most.")
@click.option(
    "--least-aptness", type=click.FloatRange(0, 1), metavar="X", help="Leave out what is less apt [keep all]."
)
@click.option(
    "--review", type=sheet_output, metavar="FILE.csv", help="Also write a file for people to accept, edit or reject."
)
@click.option("--reviewed", metavar="FILE.csv", help="Do what people decided in that file, and propose nothing.")
@seed_option
@engine_options("1 here, all of a cluster")
@table_format_option
def command(
    items: str,
    out: str,
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
    least_aptness: float | None,
    review: str | None,
    reviewed: str | None,
    seed: int,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Give every item in ITEMS more references, each with its source, its score and what it was made of.

    The references that an item has stay first and as they are; other records go through. Without --corpus the dialogues
    of ITEMS themselves are searched. Nothing is fetched: COMET is left out where its model is not here, and that is
    said.
    """
    from rejoinder.augmentation.adaptation import parse_delorean as parse_adaptation
    from rejoinder.augmentation.plan import AugmentationPlan, parse_retrieval
    from rejoinder.engines.caching import caching_engine

    if reviewed is not None:
        if review or corpus or knowledge or comet or comet_model or paraphrase or adapt is not None:
            raise click.UsageError("--reviewed proposes nothing: leave out --review and all that names a source")
        _apply_review(items, reviewed, out)
        return
    if review == out:
        raise click.UsageError(f"the items and the review cannot both go to {out!r}")
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
    named = [one for one in (items, corpus, comet_model, *knowledge) if one is not None]
    with caching_engine(choose_engine(engine, processes, address), out, named) as computing:
        _augment(items, plan, out, review, form, computing)


def _augment(given: str, plan: AugmentationPlan, out: str, review: str | None, form: str, engine: Engine) -> None:
    from rejoinder.augmentation.augment import augment_records, open_items
    from rejoinder.augmentation.review import write_review
    from rejoinder.augmentation.summary import AugmentationTally
    from rejoinder.cli._progress import show_progress
    from rejoinder.data.writer import write
    from rejoinder.table import FORMATS

    tally = AugmentationTally()
    with open_items(given) as (opened, total), show_progress("augmenting", "items", engine) as watch:
        made = augment_records(_read_records(opened), plan, lambda note: click.echo(note, err=True), tally, engine)
        watched = _report_progress(made, total, watch.progress)
        write(write_review(watched, review) if review is not None else watched, out)
    if plan.k:
        click.echo(FORMATS[form](tally.table(plan.k)), err=out == "-")
    if out != "-":
        click.echo(f"written: {out}" + (f" and {review}" if review else ""), err=True)
    watch.tell(total, "items", Path(out) if out != "-" else None)


def _apply_review(given: str, reviewed: str, out: str) -> None:
    from collections import Counter

    from rejoinder.augmentation.augment import open_items
    from rejoinder.augmentation.review import apply_review
    from rejoinder.data.writer import write

    decisions: Counter[str] = Counter()
    with open_items(given) as (opened, _):
        write(apply_review(_read_records(opened), reviewed, decisions), out)
    accepted, edited, rejected = (decisions[word] for word in ("accept", "edit", "reject"))
    click.echo(f"{accepted:,} references accepted, {edited:,} edited, {rejected:,} rejected", err=True)


def _read_records(opened: Input) -> Iterator[Record]:
    return (record for record, _ in opened.records(allow_empty=True))


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
