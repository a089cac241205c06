"""The slow part of ``reproduce sugar`` on a machine with a GPU: train every ranker on every fold and evaluate it.

python -m rejoinder.papers.sugar.jobs train FOLDER     there: trains and evaluates what is missing
python -m rejoinder.papers.sugar.jobs load FOLDER      here: puts the answers into the cache
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from rejoinder.errors import RejoinderError
from rejoinder.papers.sugar import folds
from rejoinder.papers.sugar.answers import read_ranker_answers, write_ranker_answers
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
        write_ranker_answers(job, ranker, answers_path(folder, job))
    except RejoinderError as error:
        raise click.ClickException(str(error)) from None


@commands.command("load")
@click.argument("folder", type=FOLDER)
def load_all(folder: Path) -> None:
    """Copy all answers that are there into the cache."""
    target = folds.sugar_answers_home()
    loaded = 0
    for job in list_ranker_jobs():
        path = answers_path(folder, job)
        if path.is_file():
            try:
                read_ranker_answers(path, job)
            except RejoinderError as error:
                raise click.ClickException(str(error)) from None
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / path.name)
            loaded += 1
    click.echo(f"{target}: the answers of {loaded} of {len(list_ranker_jobs())} rankers", err=True)


def answers_path(folder: Path, job: RankerJob) -> Path:
    """The file of a ranker's answers."""
    return folder / f"{job.name}.jsonl"


if __name__ == "__main__":
    commands()
