"""The slow part of ``reproduce sugar`` on a machine with a GPU: train every ranker on every fold and evaluate it.

\b
python -m rejoinder.papers.sugar.jobs train FOLDER     there: trains and evaluates what is missing
python -m rejoinder.papers.sugar.jobs store FOLDER     here: stores the answers, from which the page is made

"train --only cross-mpnet" trains the plain MPNet cross-encoder on the five folds, "--only situated-mpnet" and "--only
situated-gte-small" our ranker with another reader, five seeds each; they need rejoinder models get mpnet (gte-small).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from rejoinder.errors import RejoinderError
from rejoinder.papers.stored_answers import stored_answers_path
from rejoinder.papers.sugar import answers
from rejoinder.papers.sugar.rankers import PARAMETERS, VARIANTS, RankerJob, list_ranker_jobs

FOLDER = click.Path(path_type=Path, file_okay=False)
NAMES = click.Choice([variant.name for variant in VARIANTS])


@click.group(help=__doc__)
def commands() -> None:
    """The commands of this file."""


@commands.command()
@click.argument("folder", type=FOLDER)
@click.option("--together", type=click.IntRange(min=1), default=8, show_default=True, help="How many to run at a time.")
@click.option("--program", default="", help="The command that runs rejoinder, if it is not installed.")
@click.option("--only", multiple=True, type=NAMES, help="Train only these variants.")
@click.option("--system", default=PARAMETERS, show_default=True, help="The spec of a trained ranker.")
def train(folder: Path, together: int, program: str, only: tuple[str, ...], system: str) -> None:
    """Train every ranker whose answers are missing and compute its answers; a failure does not stop the others."""
    waiting = [job for job in list_ranker_jobs(only) if not answers_path(folder, job).is_file()]
    click.echo(f"{len(waiting)} of {len(list_ranker_jobs(only))} rankers are missing", err=True)

    def one(job: RankerJob) -> str | None:
        model, done = folder / "models" / job.name, folder / "models" / f"{job.name}.done"
        asking = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "ask", str(folder), job.name]
        if not done.is_file():
            shutil.rmtree(model, ignore_errors=True)  # of a training that was stopped
            model.parent.mkdir(parents=True, exist_ok=True)
            if subprocess.run(job.command(model, program.split())).returncode:
                return f"training of {job.name} failed"
            done.touch()
        if subprocess.run([*asking, "--system", system]).returncode:
            return f"evaluating {job.name} failed"
        click.echo(f"{job.name}: trained and evaluated", err=True)
        return None

    with ThreadPoolExecutor(together) as pool:
        failed = [why for why in pool.map(one, waiting) if why]
    if failed:
        raise click.ClickException("; ".join(failed))


@commands.command("ask")
@click.argument("folder", type=FOLDER)
@click.argument("name")
@click.option("--system", default=PARAMETERS, show_default=True, help="The spec of a trained ranker.")
def ask_one(folder: Path, name: str, system: str) -> None:
    """Compute the answers of one trained ranker."""
    from rejoinder.systems import parse_system

    job = next((job for job in list_ranker_jobs() if job.name == name), None)
    if job is None:
        raise click.ClickException(f"no ranker is called {name!r}")
    try:
        ranker = parse_system(system.format(folder=str(folder / "models" / name)))
        answers.write_ranker_answers(job, ranker, answers_path(folder, job))
    except RejoinderError as error:
        raise click.ClickException(str(error)) from None


@commands.command("store")
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", type=FOLDER, help="The folder for NAME.jsonl.gz [that of the cache].")
def store_all(folder: Path, output: Path | None) -> None:
    """Store the answers of every variant whose rankers all have answers: scores, no texts, one file each."""
    for variant in VARIANTS:
        jobs = list_ranker_jobs([variant.name])
        paths = [answers_path(folder, job) for job in jobs]
        there = [path for path in paths if path.is_file()]
        if len(there) < len(paths):
            click.echo(f"{variant.name}: {len(there)} of {len(paths)} rankers have answers; not stored", err=True)
            continue
        usual = stored_answers_path(answers.PAPER, variant.name)
        target = output / usual.name if output else usual
        try:
            answers.store_variant(variant, paths, target)
        except RejoinderError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{target}: the answers of {len(paths)} rankers, {target.stat().st_size:,} bytes", err=True)


def answers_path(folder: Path, job: RankerJob) -> Path:
    """The file of a ranker's answers."""
    return folder / f"{job.name}.jsonl.gz"


if __name__ == "__main__":
    commands()
