"""``rejoinder judge``: what the judges of a run answered, how consistent they are, and what it cost."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option, records_output, table_format_option

GROUP = _help.SCORING


@click.command(short_help="Show how consistent the judges of a run are, and their cost")
@click.argument("run", type=click.Path(path_type=Path))
@output_option(records_output(Path), "Also write every raw answer, as JSONL.")
@click.option("--input-price", type=click.FloatRange(min=0), help="The price of a million input tokens.")
@click.option("--output-price", type=click.FloatRange(min=0), help="The price of a million output tokens.")
@table_format_option
def command(run: Path, output: Path | None, input_price: float | None, output_price: float | None, form: str) -> None:
    """Show for each judge of RUN (a run folder) its answers, whether repeated questions agree, its tokens and cost.

    No endpoint is asked: the answers are those stored when RUN was scored.
    """
    import orjson

    from rejoinder.files import atomic_write
    from rejoinder.reports.judge import judge, judge_table, read_raw_answers
    from rejoinder.table import FORMATS

    if (input_price is None) != (output_price is None):
        raise click.UsageError("give both --input-price and --output-price, or neither")
    summaries = judge(run, input_price=input_price, output_price=output_price)
    click.echo(FORMATS[form](judge_table(summaries)))
    if output is not None:
        with atomic_write(output) as file:
            for answer in read_raw_answers(run):
                file.write(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE))
        click.echo(f"answers: {output}", err=True)
