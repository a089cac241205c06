"""The slow part of ``reproduce sugar`` on a machine with a GPU: train every ranker on every fold and evaluate it.

\b
python -m rejoinder_lab.papers.sugar.jobs train FOLDER     there: trains and evaluates what is missing
python -m rejoinder_lab.papers.sugar.jobs store FOLDER     here: stores the answers, from which the page is made

"train --only cross-mpnet" trains the plain MPNet cross-encoder on the five folds, "--only situated-mpnet" our ranker
with MPNet as its reader, five seeds; both need rejoinder models get mpnet. Their learning rate is the one with the
highest nDCG@3 on the validation splits of two folds.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import click
import orjson

from rejoinder.errors import RejoinderError
from rejoinder_lab.papers.requirements import use_paper_weights
from rejoinder_lab.papers.stored_answers import stored_answers_path
from rejoinder_lab.papers.sugar import answers
from rejoinder_lab.papers.sugar.rankers import TRIAL_FOLDS, VARIANTS, RankerJob, RankerVariant, list_ranker_jobs

FOLDER = click.Path(path_type=Path, file_okay=False)
NAMES = click.Choice([variant.name for variant in VARIANTS])
_TRIALS = "trials.json"  # variant -> rate -> mean nDCG@3 on the validation splits


@click.group(help=__doc__)
def commands() -> None:
    """The commands of this file."""


class RankerTraining(NamedTuple):
    """A ranker to train and evaluate: the folder for its answers, its learning rate, and the latest time to begin."""

    job: RankerJob
    folder: Path
    rate: float | None
    until: float
    keep: bool

    @property
    def answers(self) -> Path:
        """The file of its answers."""
        return answers_path(self.folder, self.job)


@commands.command()
@click.argument("folder", type=FOLDER)
@click.option("--together", type=click.IntRange(min=1), default=8, show_default=True, help="How many to run at a time.")
@click.option("--only", multiple=True, type=NAMES, help="Train only these variants.")
@click.option("--seconds", type=click.FloatRange(min=0), default=float("inf"), help="No training begins later.")
@click.option("--drop-models", is_flag=True, help="Delete each trained ranker as soon as its answers are written.")
def train(folder: Path, together: int, only: tuple[str, ...], seconds: float, drop_models: bool) -> None:
    """Train every ranker whose answers are missing and compute its answers; a failure does not stop the others."""
    until = time.time() + seconds
    jobs = list_ranker_jobs(only)
    waiting = [job for job in jobs if not answers_path(folder, job).is_file()]
    click.echo(f"{len(waiting)} of {len(jobs)} rankers are missing", err=True)
    trials = [
        RankerTraining(job, trial_folder(folder, rate), rate, until, not drop_models)
        for job in waiting
        if job.is_trial
        for rate in job.variant.rates
    ]
    failed = run_trainings([one for one in trials if not one.answers.is_file()], together)
    rates = choose_rates(folder, [one for one in trials if one.answers.is_file()])
    rest = [
        RankerTraining(job, folder, rates.get(job.variant.name), until, not drop_models)
        for job in waiting
        if not answers_path(folder, job).is_file() and (job.variant.name in rates or not job.variant.rates)
    ]
    failed += run_trainings(rest, together)
    if failed:
        raise click.ClickException("; ".join(failed))


def run_trainings(trainings: Sequence[RankerTraining], together: int) -> list[str]:
    """Train and evaluate rankers, several at a time; return what failed."""
    if together == 1 or len(trainings) < 2:
        results = [train_and_ask(one) for one in trainings]
    else:
        # Started afresh: a process that has used a GPU cannot be copied.
        with ProcessPoolExecutor(together, multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(train_and_ask, trainings))
    return [why for why in results if why]


def train_and_ask(training: RankerTraining) -> str | None:
    """Train a ranker and compute its answers; return what failed."""
    job = training.job
    if time.time() > training.until:
        return f"{job.name}: not begun in time"
    folder = training.folder / "models" / job.name
    begin = time.time()
    try:
        train_one(training, folder)
        ask_one(training, folder)
    except Exception as error:  # whatever it is, the others go on
        return f"{job.name} failed: {type(error).__name__}: {error}"
    if not training.keep:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{job.name}, rate {training.rate}: trained and evaluated in {time.time() - begin:.1f} s", file=sys.stderr)
    return None


def train_one(training: RankerTraining, folder: Path) -> None:
    """Train a ranker, unless that was done before."""
    from rejoinder_lab.training.train import train as train_model

    job, done = training.job, folder.with_name(f"{folder.name}.done")
    if done.is_file() and folder.is_dir():
        return
    shutil.rmtree(folder, ignore_errors=True)  # of a training that was stopped
    folder.parent.mkdir(parents=True, exist_ok=True)
    train_model(
        "ranker",
        [f"dataset:sugar/{job.fold}/train"],
        folder,
        recipe=job.recipe(training.rate),
        valid=[f"dataset:sugar/{job.fold}/dev"],
        log=lambda line: print(f"{job.name}: {line}", file=sys.stderr),
    )
    done.touch()


def ask_one(training: RankerTraining, folder: Path) -> None:
    """Compute the answers of a trained ranker."""
    import torch

    from rejoinder.systems.ranker import Ranker

    ranker = Ranker(str(folder))
    ranker.details()  # opens it
    torch.set_float32_matmul_precision("high")  # on a GPU several times as fast, and ranks need no more digits
    answers.write_ranker_answers(training.job, ranker, training.answers, training.rate)


def choose_rates(folder: Path, trials: Sequence[RankerTraining]) -> dict[str, float]:
    """Return the rate of each variant with the highest nDCG@3 on validation splits; its trials become answers."""
    known = read_trials(folder)
    for variant in dict.fromkeys(one.job.variant for one in trials):
        by_rate = {rate: [one for one in trials if (one.job.variant, one.rate) == (variant, rate)]
                   for rate in variant.rates}  # fmt: skip
        if any(len(of_rate) < len(TRIAL_FOLDS) for of_rate in by_rate.values()):
            continue  # one failed, so there is nothing to compare
        scores = {
            str(rate): fmean(answers.measure_validation(one.answers, one.job) for one in of_rate)
            for rate, of_rate in by_rate.items()
        }
        known[variant.name] = scores
        for one in by_rate[float(max(scores, key=scores.__getitem__))]:
            shutil.copyfile(one.answers, answers_path(folder, one.job))
    if known:
        (folder / _TRIALS).write_bytes(orjson.dumps(known, option=orjson.OPT_INDENT_2))
    return {name: float(max(scores, key=scores.__getitem__)) for name, scores in known.items()}


def read_trials(folder: Path) -> dict[str, dict[str, float]]:
    """Return the rates that were tried, by variant."""
    path = folder / _TRIALS
    known: dict[str, dict[str, float]] = orjson.loads(path.read_bytes()) if path.is_file() else {}
    return known


@commands.command("store")
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", type=FOLDER, help="The folder for NAME.jsonl.gz [that of the cache].")
def store_all(folder: Path, output: Path | None) -> None:
    """Store the answers of every variant that has a whole seed: scores, no texts, one file each."""
    for variant in VARIANTS:
        paths = find_whole_seeds(folder, variant)
        if not paths:
            jobs = list_ranker_jobs([variant.name])
            there = sum(answers_path(folder, job).is_file() for job in jobs)
            click.echo(f"{variant.name}: {there} of {len(jobs)} rankers have answers; not stored", err=True)
            continue
        usual = stored_answers_path(answers.PAPER, variant.name)
        target = output / usual.name if output else usual
        try:
            answers.store_variant(variant, paths, target, read_trials(folder).get(variant.name, {}))
        except RejoinderError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{target}: the answers of {len(paths)} rankers, {target.stat().st_size:,} bytes", err=True)


def find_whole_seeds(folder: Path, variant: RankerVariant) -> Mapping[RankerJob, Path]:
    """Return the answers of the seeds of which every ranker has some."""
    jobs = list_ranker_jobs([variant.name])
    whole = [
        seed
        for seed in range(variant.seeds)
        if all(answers_path(folder, job).is_file() for job in jobs if job.seed == seed)
    ]
    return {job: answers_path(folder, job) for job in jobs if job.seed in whole}


def trial_folder(folder: Path, rate: float) -> Path:
    """The folder for the answers of rankers that were trained with a rate, to choose one."""
    return folder / f"rate-{rate:g}"


def answers_path(folder: Path, job: RankerJob) -> Path:
    """The file of a ranker's answers."""
    return folder / f"{job.name}.jsonl.gz"


if __name__ == "__main__":
    with use_paper_weights():
        commands()
