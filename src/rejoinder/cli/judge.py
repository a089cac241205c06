"""``rejoinder judge``: how good the judges of a run are, what they answered, and what it cost."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option, records_output, seed_option, table_format_option

GROUP = _help.SCORING


@click.command(short_help="Show how good the judges of a run are, and their cost")
@click.argument("run", type=click.Path(path_type=Path))
@output_option(records_output(Path), "Also write every raw answer, as JSONL.")
@click.option("--aspect", metavar="A", help="The aspect that people rated [all].")
@click.option(
    "--attacks",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also change N replies by rule and ask the judge about them: up to 12 requests for each.",
)
@click.option(
    "--budget", type=float, metavar="AMOUNT", help="Stop before the requests of --attacks cost more than this."
)
@click.option("--input-price", type=click.FloatRange(min=0), help="The price of a million input tokens.")
@click.option("--output-price", type=click.FloatRange(min=0), help="The price of a million output tokens.")
@seed_option
@table_format_option
def command(
    run: Path,
    output: Path | None,
    aspect: str | None,
    attacks: int,
    budget: float | None,
    input_price: float | None,
    output_price: float | None,
    seed: int,
    form: str,
) -> None:
    """Show for each judge of RUN (a run folder) how well it agrees with people, whether repeated questions agree, what
    sways it, its tokens and cost, and what it may be used for.

    Without --attacks no endpoint is asked: the answers are those stored when RUN was scored, and by rejoinder arena.
    """
    import orjson

    from rejoinder.files import atomic_write
    from rejoinder.reports.judge import judge, judge_tables, read_raw_answers
    from rejoinder.table import format_tables, join_tables

    if (input_price is None) != (output_price is None):
        raise click.UsageError("give both --input-price and --output-price, or neither")

    if budget is not None and not attacks:
        raise click.UsageError("--budget limits what --attacks costs; nothing else is sent")

    summaries = judge(
        run,
        aspect=aspect,
        attacks=attacks,
        input_price=input_price,
        output_price=output_price,
        seed=seed,
        budget=budget,
        log=lambda line: click.echo(line, err=True),
    )
    tables = judge_tables(summaries)
    if form in ("text", "markdown"):
        sentences = "\n".join(sentence for summary in summaries for sentence in summary.sentences())
        click.echo(f"{join_tables(tables, form)}\n\n{sentences}")
    else:
        click.echo(format_tables(tables, form))
    if output is not None:
        with atomic_write(output) as file:
            for answer in read_raw_answers(run):
                file.write(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE))
        click.echo(f"answers: {output}", err=True)
