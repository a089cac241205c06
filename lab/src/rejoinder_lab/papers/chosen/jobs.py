"""The slow part of ``reproduce chosen``: the losses of every system of the ladders, stored without texts.

python -m rejoinder_lab.papers.chosen.jobs ask ASKED.gz                    write what the systems are asked
python -m rejoinder_lab.papers.chosen.jobs selectors ASKED.gz STORED       TF-IDF and MiniLM: seconds
python -m rejoinder_lab.papers.chosen.jobs language-model ASKED.gz STORED  SmolLM2: about 20 minutes on a core
python -m rejoinder_lab.papers.chosen.jobs train HOME                      with a GPU: train the ten systems
python -m rejoinder_lab.papers.chosen.jobs networks ASKED.gz HOME STORED   GPU: their losses, their replies' scores

STORED, a file that ends in .json.gz, is continued if it exists. ``rejoinder reproduce chosen`` reads the file
stored_losses.json.gz in this folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import orjson

from rejoinder.errors import InputError
from rejoinder_lab.papers.chosen.answers import (
    LossRequest,
    ask_network,
    make_loss_request,
    read_request,
    write_request,
)
from rejoinder_lab.papers.chosen.ladders import STEPS, list_network_folders, train_all_networks
from rejoinder_lab.papers.chosen.measures import score_network_replies
from rejoinder_lab.papers.chosen.stored import CandidateKind, StoredLosses, read_stored_losses, write_stored_losses
from rejoinder_lab.papers.requirements import use_paper_weights

FILE = click.Path(path_type=Path)
METRICS = {
    "BLEU-1": "bleu(n=1)",
    "BLEU-2": "bleu(n=2)",
    "METEOR": "meteor",
    "ROUGE-L": "rouge_l",
    "aptness of the replies": "aptness",
}


@click.group(help=(__doc__ or "").replace("\n\npython", "\n\n\b\npython", 1))  # the commands keep their lines
def jobs() -> None:
    """The commands of this file."""


@jobs.command()
@click.argument("asked", type=FILE)
def ask(asked: Path) -> None:
    """Build the sets and write what the systems are asked."""
    from rejoinder_lab.papers.chosen.sets import build_ladder_sets

    request = make_loss_request(build_ladder_sets(_report))
    write_request(asked, request)
    n_texts = sum(map(len, request.texts))
    _report(f"{asked}: {len(request.contexts):,} contexts, {n_texts:,} texts after them")


@jobs.command()
@click.argument("asked", type=FILE)
@click.argument("stored", type=FILE)
def selectors(asked: Path, stored: Path) -> None:
    """Compute the losses of systems that only select."""
    from rejoinder_lab.papers.chosen.selectors import compute_selector_losses

    request = read_request(asked)
    for losses in compute_selector_losses(request, _open_stored(stored, request)):
        write_stored_losses(stored, losses)


@jobs.command("language-model")
@click.argument("asked", type=FILE)
@click.argument("stored", type=FILE)
def language_model(asked: Path, stored: Path) -> None:
    """Compute the losses of SmolLM2 and of its worse versions, and store each as soon as it is done."""
    from rejoinder_lab.papers.chosen.language_model import compute_stored_losses

    request = read_request(asked)
    for losses in compute_stored_losses(request, _open_stored(stored, request), _report):
        write_stored_losses(stored, losses)


@jobs.command()
@click.argument("home", type=FILE)
@click.option("--steps", type=click.IntRange(min=1), default=STEPS, show_default=True)
@click.option(
    "--together", type=click.IntRange(min=1), default=10, show_default=True, help="How many to run at a time."
)
@click.option("--program", default="", help="The command that runs rejoinder, if it is not installed.")
@click.option("--corpus", multiple=True, help="Dialogues to train on [dataset:corpus/dialogues].")
def train(home: Path, steps: int, together: int, program: str, corpus: tuple[str, ...]) -> None:
    """Train every network."""
    train_all_networks(home, steps, corpus, together, program.split())


@jobs.command()
@click.argument("asked", type=FILE)
@click.argument("home", type=FILE)
@click.argument("stored", type=FILE)
@click.option("--device", metavar="NAME")
def networks(asked: Path, home: Path, stored: Path, device: str | None) -> None:
    """Compute the losses of every network, and store each as soon as it is done."""
    request = read_request(asked)
    truths = _true_replies(request)
    losses = _open_stored(stored, request)
    for name, folder in list_network_folders().items():
        if name in losses.systems:
            continue
        _report(name)
        steps = read_steps(home / folder)
        answered, replies = ask_network(home / folder, request, device)
        scores = score_network_replies(METRICS, request.contexts, truths, replies)
        losses = losses.add_system(name, answered, steps=steps)
        losses = replace(losses, replies={**losses.replies, name: scores})
        write_stored_losses(stored, losses)


def read_steps(folder: Path) -> int:
    """Return how many steps a network was trained for, according to its card."""
    try:
        return int(orjson.loads((folder / "generator.json").read_bytes())["about"]["recipe"]["steps"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder}: has no card of a generator; train it with: train {folder.parent}") from None


def _true_replies(request: LossRequest) -> list[str]:
    texts = [text for texts in request.texts for text in texts]
    return [texts[place] for place in request.positions[CandidateKind.CHOSEN][0][:, 0]]


def _open_stored(path: Path, request: LossRequest) -> StoredLosses:
    """Return what a file has already; raise an error if it is about another request."""
    if not path.is_file():
        return request.start_storing()
    stored = read_stored_losses(path)
    if stored.asked != request.digest:
        raise InputError(f"{path}: has losses for other questions; delete it")
    return stored


def _report(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    with use_paper_weights():
        jobs()
