"""The slow part of ``reproduce chosen`` on a machine with a GPU: train every network and compute its answers.

python -m rejoinder.papers.chosen.jobs dump ASKED               here: write the request
python -m rejoinder.papers.chosen.jobs train HOME               there: train the ten systems and the ladders
python -m rejoinder.papers.chosen.jobs answer ASKED HOME OUT    there: compute the answers of each
python -m rejoinder.papers.chosen.jobs load ASKED OUT           here: copy the answers into the cache
"""

from __future__ import annotations

import gzip
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import orjson

from rejoinder.errors import InputError
from rejoinder.papers.chosen.answers import (
    LossRequest,
    ask_network,
    chosen_answers_home,
    load_answers,
    make_loss_request,
    save_answers,
)
from rejoinder.papers.chosen.ladders import STEPS, list_rungs, train_all_networks

FILE = click.Path(path_type=Path)


@click.group(help=__doc__)
def jobs() -> None:
    """The commands of this file."""


@jobs.command()
@click.argument("asked", type=FILE)
def dump(asked: Path) -> None:
    """Write the request."""
    from rejoinder.papers.chosen.sets import build_sets

    sets = build_sets(lambda line: click.echo(line, err=True))
    questions = [q for built in sets.chosen for q in built.questions] + [q for one in sets.random for q in one]
    request = make_loss_request(questions)
    asked.write_bytes(gzip.compress(orjson.dumps([request.contexts, request.texts]), mtime=0))
    click.echo(f"{asked}: {len(request.contexts):,} contexts, {len(request.places):,} texts after them", err=True)


@jobs.command()
@click.argument("target", type=FILE)
@click.option("--steps", type=click.IntRange(min=1), default=STEPS, show_default=True)
@click.option(
    "--together", type=click.IntRange(min=1), default=13, show_default=True, help="How many to run at a time."
)
@click.option("--program", default="", help="The command that runs rejoinder, if it is not installed.")
@click.option("--corpus", multiple=True, help="Dialogues to train on [dataset:corpus/dialogues].")
def train(target: Path, steps: int, together: int, program: str, corpus: tuple[str, ...]) -> None:
    """Train every network."""
    train_all_networks(target, steps, corpus, together, program.split())


@jobs.command("answer")
@click.argument("asked", type=FILE)
@click.argument("target", type=FILE)
@click.argument("out", type=FILE)
@click.option("--device", metavar="NAME")
@click.option("--together", type=click.IntRange(min=1), default=1, show_default=True, help="How many to run at a time.")
def answer_all(asked: Path, target: Path, out: Path, device: str | None, together: int) -> None:
    """Compute the answers of every network."""
    request = read_request(asked)

    def one(number: int) -> None:
        rung = list_rungs()[number]
        if not (target / rung.folder / "generator.json").is_file():
            raise InputError(f"{target / rung.folder}: is not trained; run: train {target}")
        save_answers(out / rung.folder.replace("/", "."), ask_network(target / rung.folder, request, device))
        shutil.copy(target / rung.folder / "generator.json", out / rung.folder.replace("/", "."))
        click.echo(f"{rung.name}: answers written", err=True)

    with ThreadPoolExecutor(together) as pool:
        list(pool.map(one, range(len(list_rungs()))))


@jobs.command("load")
@click.argument("asked", type=FILE)
@click.argument("out", type=FILE)
def load_all(asked: Path, out: Path) -> None:
    """Copy answers into the cache."""
    request = read_request(asked)
    target = chosen_answers_home(request)
    for rung in list_rungs():
        name = rung.folder.replace("/", ".")
        load_answers(out / name, request)
        shutil.copytree(out / name, target / name, dirs_exist_ok=True)
    click.echo(f"{target}: the answers of {len(list_rungs())} networks", err=True)


def read_request(path: Path) -> LossRequest:
    """Read a request."""
    contexts, texts = orjson.loads(gzip.decompress(path.read_bytes()))
    return LossRequest(tuple(map(tuple, contexts)), tuple(map(tuple, texts)))


if __name__ == "__main__":
    jobs()
