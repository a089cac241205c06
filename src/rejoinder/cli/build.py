"""``rejoinder build``: response-selection test sets with well-chosen false candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rejoinder.cli._options import engine_options, project_file, records_file, seed, sheet_file, table_form


@click.command(short_help="Response-selection test sets with well-chosen false candidates")
@click.argument("out", metavar="SET.jsonl")
@click.option("--from", "dialogues", multiple=True, metavar="FILE", help="Dialogues to make questions of.")
@click.option("--repository", multiple=True, metavar="FILE", help="Dialogues or utterances to find candidates in.")
@click.option("--not-in", multiple=True, metavar="FILE", help="What systems were trained on: nothing of it is used.")
@click.option("--questions", type=click.IntRange(min=1), metavar="N", help="How many questions [all that can be had].")
@click.option("--context-turns", type=click.IntRange(min=1), default=3, show_default=True, help="Turns of context.")
@click.option("--position", default="first", show_default=True, help="The true reply: first, last, random, or a turn.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SPEC",
    help="Where candidates come from, e.g. \"bm25(query='reply')\" [bm25 and sif].",
)
@click.option("--pool", type=click.IntRange(min=1), default=10, show_default=True, help="Utterances found a question.")
@click.option("--share", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="Part of the repository used.")
@click.option("--false", "n_false", type=click.IntRange(min=1), default=3, show_default=True, help="False candidates.")
@click.option("--judge-with", metavar="SPEC", help="The metric of the model pass, or none [aptness(model='bi')].")
@click.option("--acceptability", metavar="FILE", help="What is known of that metric [what the package knows].")
@click.option("--second", type=click.Choice(["people", "model", "none"]), default="people", show_default=True)
@click.option("--least-raters", type=click.IntRange(min=1), default=3, show_default=True, help="Fewer decide nothing.")
@click.option("--random", "at_random", is_flag=True, help="Draw false candidates at random, and let nobody judge.")
@click.option(
    "--write-csv", type=sheet_file, metavar="FILE", help="Write pools and a sheet for people to score, and no set yet."
)
@click.option(
    "--write-project",
    type=project_file,
    metavar="FILE",
    help="Write pools and a project for rejoinder annotate, and no set yet.",
)
@click.option("--pools", metavar="FILE", help="Make the set of pools that were written before.")
@click.option("--people", metavar="FILE", help="What people said: the sheet, ratings in JSONL, or PROJECT.toml.")
@click.option("--measure-acceptability", is_flag=True, help="Measure the judge on DailyDialog++, and write that.")
@seed
@engine_options("1 here, all of a cluster")
@table_form
def command(out: str, **options: Any) -> None:
    """Build a test set: for each context and true reply, false candidates that are like the reply and do not fit.

    FILE is JSONL, dataset:NAME, or (of a repository) a .txt with an utterance on each line; FILE@SPLIT or
    FILE@SPLIT+SPLIT means these splits of it. Beside SET.jsonl stand SET.card.json and SET.card.md.
    """
    from rejoinder.cli import _building as steps
    from rejoinder.cli._progress import watching
    from rejoinder.selection.settings import JUDGE, Settings, parse_position

    judge = options["judge_with"] or JUDGE
    if options["measure_acceptability"]:
        steps.measure(out, judge, options["form"])
        return
    records_file().check(out)
    steps.check(options)
    settings = Settings(
        context_turns=options["context_turns"],
        position=parse_position(options["position"]),
        sources=options["sources"] or steps.usual_sources(options),
        pool=options["pool"],
        share=options["share"],
        false=options["n_false"],
        judge=None if judge == "none" else judge,
        second=options["second"],
        least_raters=options["least_raters"],
        questions=options["questions"],
        random=options["at_random"],
        seed=options["seed"],
    )
    known = steps.known_of(settings, options["acceptability"])
    steps.tell_sources(settings, options)
    for_people = options["write_csv"] or options["write_project"]
    with steps.engine(options, out) as engine:
        with watching("finding candidates", "items", engine) as watch:
            found = steps.find(settings, known, options, watch) if for_people else None
            built = steps.make(settings, known, options, watch) if found is None else None
        if found is not None:
            steps.write_for_people(found, out, options)
            watch.tell(len(found.questions), "pools")
        if built is not None:
            steps.write_set(built, out, options["form"])
            watch.tell(len(built.questions), "questions", Path(out))
