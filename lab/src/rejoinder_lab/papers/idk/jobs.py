"""Scores of models that are not in the package, for ``stored_scores.json.gz``: the slow part of ``reproduce idk``.

    python -m rejoinder_lab.papers.idk.jobs vectors         COS-FT: a minute; needs glove-6b-50d
    python -m rejoinder_lab.papers.idk.jobs language        NORM-PROB and FED: an hour of one core; needs smollm2-135m
    python -m rejoinder_lab.papers.idk.jobs nup FOLDER      NUP-BERT: three runs on each training set, for a GPU
    python -m rejoinder_lab.papers.idk.jobs add FILE        what another machine wrote with --output FILE

What was interrupted goes on where it stopped. ``--output`` names another file than the one in the package.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from rejoinder.metric import Metric, parse, signature
from rejoinder.metrics.nup import Nup
from rejoinder.paths import cache_home
from rejoinder.scoring.api import score_pairs
from rejoinder_lab.papers.idk.language_scores import METRICS, score_pairs_together
from rejoinder_lab.papers.idk.prior import NETWORKS, WORD_VECTORS
from rejoinder_lab.papers.idk.rows import read_test_rows, read_valid_rows
from rejoinder_lab.papers.idk.stored import FILE, add_stored_runs, store_scores
from rejoinder_lab.papers.idk.variants import SEEDS, SETS
from rejoinder_lab.papers.own.relevance.rows import RelevanceRows
from rejoinder_lab.papers.requirements import use_paper_weights
from rejoinder_lab.training.idk import DEFAULT_CONTEXTS

_OUTPUT = click.option("-o", "--output", type=click.Path(path_type=Path), default=FILE, help="The file to write.")


@dataclass(frozen=True)
class NupJob:
    """One network: the printed row, its training corpus, the number of contexts (None: all) and the run."""

    row: str
    corpus: str
    contexts: int | None
    run: int

    @property
    def name(self) -> str:
        """The name of its folder."""
        return f"nup-{self.corpus}-{self.contexts or 'all'}-{self.run}"


def list_nup_jobs(only: Sequence[str] = ()) -> list[NupJob]:
    """Three runs on H, TC-S and TC, or on some of them."""
    sets = zip(
        NETWORKS, (SETS["H"], SETS["TC-S"], SETS["TC-S"]), (DEFAULT_CONTEXTS, DEFAULT_CONTEXTS, None), strict=True
    )
    return [NupJob(*one, run) for one in sets for run in SEEDS if not only or one[0] in only]


@click.group(help=__doc__)
def commands() -> None:
    """The commands of this file."""


@commands.command()
@_OUTPUT
def vectors(output: Path) -> None:
    """Score all rows by word vectors."""
    for row, spec in WORD_VECTORS.items():
        metric = parse(spec)
        _store_metric(row, metric, signature(metric), 0, output)


@commands.command()
@_OUTPUT
def language(output: Path) -> None:
    """Score all rows by a language model, one set after the other."""
    from rejoinder.models.language_model.model import open_language_model

    (model,) = {metric.model for metric in METRICS.values()}
    work = cache_home() / "reproduce" / f"idk-{model}.jsonl"
    work.parent.mkdir(parents=True, exist_ok=True)
    for rows in _read_all_rows():
        pairs = list(rows.data.pairs())
        scores = score_pairs_together(open_language_model(model), pairs, work)
        for row, metric in METRICS.items():
            by_response = {pair.response.id: value for pair, value in zip(pairs, scores[row], strict=True)}
            store_scores(row, signature(metric), rows, by_response, path=output)
        click.echo(f"{rows.column.dataset}: {len(pairs)} rows", err=True)


@commands.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--only", multiple=True, type=click.Choice(NETWORKS), help="Only this row; may be repeated.")
@click.option("--base", default="aptness", show_default=True, help="The encoder to fine-tune.")
@click.option("--device", help="The device: cuda or cpu [cuda if there is one].")
@click.option("--together", type=click.IntRange(min=1), default=1, show_default=True, help="How many to run at a time.")
@_OUTPUT
def nup(folder: Path, only: tuple[str, ...], base: str, device: str | None, together: int, output: Path) -> None:
    """Fine-tune what is not in FOLDER yet and score all rows by it."""
    trainings = [NupTraining(job, folder, base, device) for job in list_nup_jobs(only)]
    if together == 1:
        files = map(train_and_score, trainings)
        for file in files:
            add_stored_runs(file, output)
        return
    # Started afresh: a process that has used a GPU cannot be copied.
    with ProcessPoolExecutor(together, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(train_and_score, one) for one in trainings]):
            add_stored_runs(future.result(), output)


class NupTraining(NamedTuple):
    """A network to train and to score all rows by."""

    job: NupJob
    folder: Path
    base: str
    device: str | None


def train_and_score(training: NupTraining) -> Path:
    """Fine-tune a network, unless that was done before, score all rows by it, and return the file of scores."""
    from rejoinder.data.datasets import read_dataset
    from rejoinder.types import Dialogue
    from rejoinder_lab.training.nup import train_nup
    from rejoinder_lab.training.recipes import NupRecipe

    job, base = training.job, training.base
    target = training.folder / job.name
    if not (target / "nup.json").is_file():
        dialogues = [record for record in read_dataset("corpus/dialogues") if isinstance(record, Dialogue)]
        train = [d for d in dialogues if d.corpus == job.corpus and (d.split or "train") == "train"]
        every = sum(max(0, sum(bool(turn.text.strip()) for turn in d.turns) - 1) for d in train)
        recipe = NupRecipe(seed=job.run, contexts=job.contexts or every)

        def log(line: str) -> None:
            click.echo(f"{job.name}: {line}", err=True)

        train_nup(dialogues, target, recipe, job.corpus, base, training.device, log=log)
    metric = Nup(str(target))
    made = [f"base:{base}", f"corpus:{job.corpus}", f"contexts:{job.contexts or 'all'}", f"seed:{job.run}"]
    weights = [f"{key}:{value}" for key, value in metric.details().items()]
    file = training.folder / f"{job.name}.json.gz"
    _store_metric(job.row, metric, "|".join(["nup", *made, *weights]), job.run, file)
    return file


@commands.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_OUTPUT
def add(file: Path, output: Path) -> None:
    """Put the scores of FILE, which another machine wrote, into the package's file."""
    click.echo(f"{output}: {', '.join(add_stored_runs(file, output))}", err=True)


def _store_metric(row: str, metric: Metric, made: str, run: int, output: Path) -> None:
    for rows in _read_all_rows():
        pairs = list(rows.data.pairs())
        scores = dict(zip((pair.response.id for pair in pairs), score_pairs(metric, pairs).tolist(), strict=True))
        store_scores(row, made, rows, scores, run, output)
    click.echo(f"{row}, run {run}: stored", err=True)


def _read_all_rows() -> list[RelevanceRows]:
    test = read_test_rows()
    return [*test, read_valid_rows(test[1])]


if __name__ == "__main__":
    with use_paper_weights():
        commands()
