"""The ladders of ``reproduce chosen``: systems whose order is known by construction, without any judgement or metric.

All ladders, their steps and both ways to score a candidate were fixed here before any of them was run on chosen and on
random sets. A rung is a system, or a system of whose questions a share is answered in a worse way: at random, or after
the context of another dialogue. A larger share includes the questions of a smaller one.

Three families. Systems that only select take seconds; they generate nothing, but their order is known as well. SmolLM2
takes minutes without a GPU. The networks are the ten systems of Table 6, at checkpoints: they need a GPU. There is no
ladder of systems trained on fractions of the dialogues any more: with the same number of steps, a system
trained on fewer dialogues sees each more often, and which of two is better is not known.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.errors import RejoinderError

CORRUPTED_SHARES = (0.8, 0.6, 0.4, 0.2, 0.1, 0.0)  # of the questions, from the worst rung to the best
DROPPED_SHARES = (0.75, 0.5, 0.25)  # of the words of a context
NOISE_LEVELS = (0.4, 0.3, 0.2, 0.1)  # times the standard deviation of each matrix of weights
AT_RANDOM = "at random"
TFIDF, MINILM, LANGUAGE_MODEL = "TF-IDF", "MiniLM", "SmolLM2"
STEPS = 40_000
SNAPSHOTS = (1_000, 2_500, 6_000, 15_000)


class Rung(NamedTuple):
    """A system; a ``share`` of the questions is answered by ``otherwise``: another system, or at random."""

    system: str
    share: float = 0.0
    otherwise: str = AT_RANDOM


class KnownOrder(NamedTuple):
    """A ladder: its rungs from the worst to the best."""

    name: str
    rungs: tuple[Rung, ...]


def name_other(system: str) -> str:
    """The name of a system that reads the context of another dialogue."""
    return f"{system}, context of another dialogue"


def name_dropped(system: str, share: float) -> str:
    """The name of a system without a share of its context's words."""
    return f"{system}, {share:.0%} of the context's words left out"


def name_noisy(level: float) -> str:
    """The name of the language model with noise in its weights."""
    return f"{LANGUAGE_MODEL}, weights with noise of {level:g} standard deviations"


def list_all_ladders() -> list[KnownOrder]:
    """All ladders, in the order of the page."""
    noisy = tuple(Rung(name_noisy(level)) for level in NOISE_LEVELS)
    return [
        *(order for system in (TFIDF, MINILM, LANGUAGE_MODEL) for order in list_context_ladders(system)),
        KnownOrder(f"{LANGUAGE_MODEL}, less noise in the weights", (*noisy, Rung(LANGUAGE_MODEL))),
        *list_network_ladders(),
    ]


def list_context_ladders(system: str) -> list[KnownOrder]:
    """The ladders of a system whose answers or contexts are spoilt."""
    dropped = tuple(Rung(name_dropped(system, share)) for share in DROPPED_SHARES)
    return [
        KnownOrder(f"{system}, fewer answers at random", corrupted_order(system)),
        KnownOrder(f"{system}, fewer contexts of other dialogues", corrupted_order(system, name_other(system))),
        KnownOrder(f"{system}, more words of the context", (*dropped, Rung(system))),
    ]


def corrupted_order(system: str, otherwise: str = AT_RANDOM) -> tuple[Rung, ...]:
    """The rungs of one system with more and more of its questions answered in a worse way."""
    return tuple(Rung(system, share, otherwise) for share in CORRUPTED_SHARES)


class SystemSize(NamedTuple):
    """A line of the paper's Table 6."""

    number: int
    arch: str
    layers: int
    dim: int

    @property
    def name(self) -> str:
        """Its name here."""
        return f"{self.arch}-{self.layers}-{self.dim}"

    @property
    def options(self) -> list[str]:
        """Its options for ``rejoinder train generator``."""
        return ["--arch", self.arch, "--layers", str(self.layers), "--dim", str(self.dim)]


TEN_SIZES = (
    SystemSize(1, "gru", 1, 256),
    SystemSize(2, "gru", 1, 512),
    SystemSize(3, "gru", 2, 256),
    SystemSize(4, "gru", 2, 512),
    SystemSize(5, "lstm", 1, 256),
    SystemSize(6, "lstm", 1, 512),
    SystemSize(7, "lstm", 2, 512),
    SystemSize(8, "transformer", 2, 256),
    SystemSize(9, "transformer", 2, 512),
    SystemSize(10, "transformer", 4, 256),
)
# Those whose checkpoints are ladders: one of each architecture.
CHECKPOINT_SIZES = (TEN_SIZES[0], TEN_SIZES[5], TEN_SIZES[7])
# The one whose answers are corrupted: the widest transformer, the best of the ten in our earlier run.
CORRUPTED_SIZE = TEN_SIZES[8]


def list_network_ladders() -> list[KnownOrder]:
    """The ladders of trained networks; the best rung is the finished system."""
    checkpoints = [
        KnownOrder(
            f"checkpoints of {size.name}",
            (*(Rung(f"{size.name}@{step}") for step in SNAPSHOTS), Rung(size.name)),
        )
        for size in CHECKPOINT_SIZES
    ]
    return [
        *checkpoints,
        KnownOrder(f"{CORRUPTED_SIZE.name}, fewer answers at random", corrupted_order(CORRUPTED_SIZE.name)),
    ]


def list_network_folders() -> dict[str, str]:
    """The folder of each network below the common one, by its name."""
    folders = {size.name: size.name for size in TEN_SIZES}
    for size in CHECKPOINT_SIZES:
        folders |= {f"{size.name}@{step}": f"{size.name}/step-{step}" for step in SNAPSHOTS}
    return folders


def list_training_commands(
    home: Path, steps: int, corpus: Sequence[str], program: Sequence[str] = ()
) -> list[list[str]]:
    """Return the commands that train every network; all share one vocabulary."""
    start = [*(program or (sys.executable, "-m", "rejoinder")), "train", "generator", *corpus, "--steps", str(steps)]
    jobs = []
    for size in TEN_SIZES:
        job = [*start, *size.options, "-o", str(home / size.name)]
        for step in SNAPSHOTS if size in CHECKPOINT_SIZES else ():
            job += ["--snapshot", str(step)]
        jobs.append([*job, "--vocabulary", str(home / "vocabulary")])
    return jobs


def train_all_networks(
    home: Path, steps: int, corpus: Sequence[str], together: int, program: Sequence[str] = ()
) -> None:
    """Train every network, several at a time."""
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "vocabulary").exists():
        start = [*(program or (sys.executable, "-m", "rejoinder")), "train", "generator", *corpus]
        small = ["--dim", "8", "--steps", "1", "--tokens", "64", "--check", "1"]
        _wait_for_all([subprocess.Popen([*start, *small, "-o", str(home / "vocabulary")])])
    waiting = list_training_commands(home, steps, corpus, program)
    while waiting:
        _wait_for_all([subprocess.Popen(job) for job in waiting[:together]])
        waiting = waiting[together:]


def _wait_for_all(running: Sequence[subprocess.Popen[bytes]]) -> None:
    failed = [process.args for process in running if process.wait()]
    if failed:
        raise RejoinderError(f"training failed: {failed[0]!r}")
