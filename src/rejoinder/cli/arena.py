"""``rejoinder arena``: which of two systems' replies a judge prefers, asked in both orders."""

from __future__ import annotations

import click

from rejoinder.cli import _help
from rejoinder.cli._options import output_option, records_output, seed_option, table_format_option

GROUP = _help.SCORING
RESUMABLE = "always"

_EMBEDDED_WARNING = (
    "the embedded judge is a small model, which on the pairs that it was tried on agreed with people no more often "
    "than a coin flip; use it to try the command, and --judge NAME (a model at your endpoint) for results"
)


@click.command(short_help="Ask a judge which system's replies are better")
@click.argument("files", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--judge",
    default="embedded",
    show_default=True,
    metavar="NAME",
    help="The endpoint's name for a model, or embedded.",
)
@click.option(
    "--rubric", default="default", show_default=True, metavar="NAME", help="A rubric by name, or a .toml file."
)
@click.option(
    "-n", "n", type=click.IntRange(min=1), default=100, show_default=True, help="Items per two systems, at most."
)
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated [all].")
@click.option("--people", is_flag=True, help="Only replies that people compared too.")
@click.option("--dry-run", is_flag=True, help="Only estimate what the requests will cost; nothing is sent.")
@click.option("--budget", type=float, metavar="AMOUNT", help="Stop before the requests cost more than this.")
@output_option(records_output(), "Write the judge's preferences, with the compared replies and their items.")
@seed_option
@table_format_option
def command(
    files: tuple[str, ...],
    judge: str,
    rubric: str,
    n: int,
    systems: tuple[str, ...],
    people: bool,
    dry_run: bool,
    budget: float | None,
    output: str | None,
    seed: int,
    form: str,
) -> None:
    """Ask a judge which of two systems' replies to the same item is better, in both orders, and rank the systems. By a
    rubric of whole dialogues (goal_reached, knowledge_kept), two dialogues of the same name are compared.

    RUN is a run folder, a file with the replies of two or more systems (or several files, where NAME=FILE names the
    system of one), - for standard input, or dataset:NAME. What was answered is stored and not asked again.

    The written preferences have the rater judge:NAME and are never mixed with those of people; rejoinder compare
    --preferences reads them.
    """
    from rejoinder.cli._progress import progress_bar
    from rejoinder.data.writer import write
    from rejoinder.judges.arena import arena, estimate_arena_cost
    from rejoinder.table import format_tables, join_tables

    if dry_run:
        from rejoinder.cli._costs import print_costs

        estimate = estimate_arena_cost(files, judge, rubric=rubric, n=n, systems=systems, only_rated=people, seed=seed)
        print_costs([] if judge == "embedded" else [estimate], form)
        return
    if judge == "embedded":
        click.echo(f"note: {_EMBEDDED_WARNING}", err=True)

    with progress_bar("comparing", "pairs") as progress:
        result = arena(
            files,
            judge,
            rubric=rubric,
            n=n,
            systems=systems,
            only_rated=people,
            seed=seed,
            budget=budget,
            log=lambda line: click.echo(line, err=True),
            progress=progress,
        )
    if form in ("text", "markdown"):
        click.echo(join_tables(result.tables(), form) + "\n\n" + "\n".join(result.sentences()))
    else:
        cost = result.cost_table()
        click.echo(format_tables([*result.tables(), *([cost] if cost else [])], form))
    if output is not None:
        write(result.records(), output)
        click.echo(f"written: {output}", err=True)
