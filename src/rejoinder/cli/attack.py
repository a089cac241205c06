"""``rejoinder attack``: what fools a metric, and what upsets it though it should not."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._options import Output, choose_engine, engine_options, table_format_option

_EXAMPLES = 5  # worst cases of each trial that a file holds at least


@click.command(short_help="What fools a metric")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="A metric; may be repeated [every installed metric that needs no references].",
)
@click.option("--contexts", type=click.IntRange(min=1), default=2000, show_default=True, help="Contexts to draw.")
@click.option("--split", default="test", show_default=True, help="The split to draw from, where dialogues have one.")
@click.option("--seed", default=0, show_default=True, help="The seed of what is drawn.")
@click.option("--by-corpus", is_flag=True, help="Also print each metric corpus by corpus.")
@click.option("--examples", type=click.IntRange(min=0), default=0, metavar="N", help="Also print the N worst cases.")
@click.option(
    "-o",
    "--out",
    type=Output("JSON", ".json", path_type=Path),
    metavar="FILE.json",
    help="Write figures and worst cases.",
)
@engine_options("1 here, all of a cluster")
@table_format_option
def command(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    contexts: int,
    split: str,
    seed: int,
    by_corpus: bool,
    examples: int,
    out: Path | None,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Attack metrics with worse replies made by rule, and with harmless edits of the true reply.

    Contexts and true replies come from the dialogues in FILE... (JSONL, - for standard input, or dataset:NAME), evenly
    over their corpora; without FILE from the published ones. Of an item with several references, the first is the true
    reply and the others serve metrics that need references.
    """
    import orjson

    from rejoinder.cli._progress import show_progress
    from rejoinder.engines.caching import caching_engine
    from rejoinder.files import atomic_write
    from rejoinder.probes import AttackPlan, attack
    from rejoinder.probes.tables import corpus_table, example_table, summary_table
    from rejoinder.reports.output import join_tables

    plan = AttackPlan(contexts, split, seed, examples=max(examples, _EXAMPLES))
    with caching_engine(choose_engine(engine, processes, address), out) as computing:
        with show_progress("attacking", "metrics", computing) as watch:
            found = attack(files, metrics or None, plan, watch.progress, computing)
        tables = [summary_table(found)]
        tables += [corpus_table(found, metric) for metric in found.metrics if by_corpus]
        tables += [example_table(found, metric, examples) for metric in found.metrics if examples]
        click.echo(join_tables(tables, form))
        if out is not None:
            with atomic_write(out) as target:
                target.write(orjson.dumps(found.to_object(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            click.echo(f"written: {out}", err=True)
        watch.tell(
            sum(found.contexts.values()) * len(found.metrics), "contexts", out, f" under {len(found.metrics)} metrics"
        )
