"""``rejoinder situate build`` and ``seeds``: from seeds to questions, and from questions back to seeds."""

from __future__ import annotations

from typing import Any

import click

from rejoinder.cli._options import records_file, seed, table_form

given = click.argument("seeds", nargs=-1, required=True, metavar="SEEDS...")


@click.command("build", short_help="Questions with distractors and situations")
@given
@click.option("-o", "--output", required=True, type=records_file(), metavar="SET.jsonl", help="Where to.")
@click.option("--candidates", type=click.IntRange(min=2), default=3, show_default=True, help="Of each question.")
@click.option("--statements", type=click.IntRange(min=0), default=12, show_default=True, help="Of each question.")
@click.option("--overlap", type=click.FloatRange(0, 1, min_open=True), default=0.75, show_default=True,
              help="Of content words, from which on two texts say nearly the same.")  # fmt: skip
@click.option("--similarity", type=click.FloatRange(0, 1, min_open=True), default=0.5, show_default=True,
              help="Of embeddings, from which on a reply may do for both requests.")  # fmt: skip
@click.option("--rounds", type=click.IntRange(min=0), default=3, show_default=True, help="Of adversarial filtering.")
@click.option("--folds", type=click.IntRange(min=2), default=10, show_default=True, help="Of a round.")
@click.option("--margin", type=click.FloatRange(min=0), default=0.05, show_default=True, help="Of an easy distractor.")
@click.option("--encoder", default="aptness", show_default=True, metavar="NAME", help="What gives the embeddings.")
@click.option("--contradictions", metavar="FILE.toml", help="Keywords of statements that exclude others [our own].")
@seed
@table_form
def build(seeds: tuple[str, ...], output: str, contradictions: str | None, form: str, **chosen: Any) -> None:
    """Make a question of each seed: replies of other seeds as distractors, and statements that do not matter.

    Algorithms 1 and 2 and Appendix B.2 of Otani et al. 2023. Nobody has graded the candidates yet: write a project for
    people with rejoinder situate project grade SET.jsonl. Beside SET.jsonl stand SET.card.json and SET.card.md.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.seeds import read_seeds
    from rejoinder.data.writing import write
    from rejoinder.errors import InputError
    from rejoinder.report.table import FORMATS
    from rejoinder.selection.given import Given
    from rejoinder.situating.building import situate
    from rejoinder.situating.card import step_table, write_card
    from rejoinder.situating.contradictions import read_keywords
    from rejoinder.situating.settings import Settings

    if "-" in seeds:
        raise InputError("a set cannot be built from standard input, which can be read once; name a file")
    settings, keywords = Settings(**chosen), read_keywords(contradictions)
    read = read_seeds(*seeds)
    facts = [Given(name).facts("seeds") for name in seeds]
    with progress_bar("filtering") as progress:
        made = situate(read, settings, keywords, inputs=facts, progress=progress)
    write(made.questions, output)
    machine, page = write_card(made.card, output)
    click.echo(FORMATS[form](step_table(made.card)))
    click.echo(f"written: {output}, {machine.name} and {page.name}", err=True)
    click.echo(f"then: rejoinder situate project grade {output} -o PROJECT.toml", err=True)


@click.command("seeds", short_help="Seeds of questions or items")
@given
@click.option("-o", "--output", default="-", type=records_file(), metavar="FILE", help="Where to [standard output].")
def seeds(seeds: tuple[str, ...], output: str) -> None:
    """Take questions or items apart into seeds: a request, its goal, the reply and the relevant statements."""
    from rejoinder.data.seeds import read_seeds, write_seeds

    n = write_seeds(read_seeds(*seeds), output)
    click.echo(f"written: {n:,} seeds", err=True)
