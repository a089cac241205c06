"""``rejoinder judge``: what the judges of a run answered, how steady they are, and what it cost."""

from __future__ import annotations

from pathlib import Path

import click

from rejoinder.cli._options import records_output, table_format_option


@click.command(short_help="How steady a run's judge is, and its cost")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=records_output(Path), help="Also write every raw answer to this JSONL file.")
@click.option("--input-price", type=click.FloatRange(min=0), help="The price of a million tokens read.")
@click.option("--output-price", type=click.FloatRange(min=0), help="The price of a million tokens written.")
@table_format_option
def command(run: Path, out: Path | None, input_price: float | None, output_price: float | None, form: str) -> None:
    """Show for each judge of RUN (a run folder) what was answered, whether repeats agree, its tokens and their cost.

    Nothing is asked: the answers are those that were kept when RUN was scored.
    """
    import orjson

    from rejoinder.files import atomic_write
    from rejoinder.reports.judge import judge, judge_table, read_raw_answers
    from rejoinder.table import FORMATS

    if (input_price is None) != (output_price is None):
        raise click.UsageError("give both --input-price and --output-price, or neither")
    summaries = judge(run, input_price=input_price, output_price=output_price)
    click.echo(FORMATS[form](judge_table(summaries)))
    if out is not None:
        with atomic_write(out) as file:
            for answer in read_raw_answers(run):
                file.write(orjson.dumps(answer, option=orjson.OPT_APPEND_NEWLINE))
        click.echo(f"answers: {out}", err=True)
