"""``rejoinder attack``: which bad replies a metric likes, and which harmless edits change its score."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import (
    OutputPath,
    choose_engine,
    engine_options,
    input_options,
    output_option,
    seed_option,
    table_format_option,
)

GROUP = _help.SCORING
RESUMABLE = "with output"

_JUDGED = 50  # contexts, where every text is a request
_EXAMPLES = 5  # the fewest worst cases of each trial that a file holds


@click.command(short_help="Find what fools a metric")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="A metric; may be repeated [every installed metric that needs no references].",
)
@click.option(
    "-n",
    "--contexts",
    type=click.IntRange(min=1),
    help="How many contexts to sample [2000; 50 with a judge at an endpoint].",
)
@click.option("--split", default="test", show_default=True, help="The split to sample from, where dialogues have one.")
@seed_option
@click.option("--by-corpus", is_flag=True, help="Also print a table of the corpora for each metric.")
@click.option("--examples", type=click.IntRange(min=0), default=0, metavar="N", help="Also print the N worst cases.")
@output_option(
    OutputPath("JSON", ".json", path_type=Path), "Also write the figures and the worst cases.", metavar="FILE.json"
)
@engine_options("1 on this machine, all of a cluster")
@table_format_option
@input_options()
def command(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    contexts: int | None,
    split: str,
    seed: int,
    by_corpus: bool,
    examples: int,
    output: Path | None,
    processes: int | None,
    engine: str,
    address: str | None,
    form: str,
) -> None:
    """Attack metrics with bad replies made by rules, and with harmless edits of the true reply.

    Contexts and true replies come from the dialogues in FILE... (JSONL, - for standard input, or dataset:NAME), as many
    from each corpus; without FILE, from 40 example dialogues that come with rejoinder. Of an item with several
    references, the first is the true reply and the others are for metrics that need references.

    With -m "judge(model='NAME')" the texts are sent to your endpoint; how many, at most, is printed first.
    """
    import orjson

    from rejoinder.cli._progress import show_progress
    from rejoinder.engines.caching import caching_engine
    from rejoinder.files import atomic_write
    from rejoinder.probes import AttackPlan, attack
    from rejoinder.probes.result import robustness_by_corpus_table, robustness_table, worst_case_table
    from rejoinder.table import join_tables

    n_requests = _count_requests(metrics)
    contexts = contexts or (_JUDGED if n_requests else AttackPlan.contexts)
    if n_requests:
        click.echo(f"{contexts:,} contexts, at most {contexts * n_requests:,} requests to the judge", err=True)
    plan = AttackPlan(contexts, split, seed, examples=max(examples, _EXAMPLES))
    with caching_engine(choose_engine(engine, processes, address), output) as compute_engine:
        with show_progress("attacking", "metrics", compute_engine) as reporter:
            result = attack(files, metrics or None, plan, reporter.progress, compute_engine)
        tables = [robustness_table(result)]
        tables += [robustness_by_corpus_table(result, metric) for metric in result.metrics if by_corpus]
        tables += [worst_case_table(result, metric, examples) for metric in result.metrics if examples]
        click.echo(join_tables(tables, form))
        if output is not None:
            with atomic_write(output) as target:
                target.write(orjson.dumps(result.to_object(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            click.echo(f"written: {output}", err=True)
        count = len(result.metrics)
        note = f" under {count} metric{'s' if count != 1 else ''}"
        reporter.print_summary(sum(result.contexts.values()) * count, "contexts", output, note)


def _count_requests(metrics: tuple[str, ...]) -> int:
    """The most requests that one context can take; 0 if nothing is sent."""
    from rejoinder.metric import parse
    from rejoinder.metrics.judge import Judge
    from rejoinder.probes.variants import TRIALS

    parsed = [parse(spec) for spec in metrics]
    repeats = sum(metric.repeats for metric in parsed if isinstance(metric, Judge) and metric.is_remote)
    return repeats * (len(TRIALS) + 1)
