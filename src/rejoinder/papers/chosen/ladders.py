"""The systems that ``reproduce chosen`` ranks: the ten of Table 6, and ladders whose order is known.

A ladder is one system at several checkpoints, or trained on several fractions of the dialogues: the higher rung is the
better system by construction, without any judgement or metric.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.errors import RejoinderError

STEPS = 12_000
SNAPSHOTS = (250, 500, 1_000, 2_000, 4_000)
FRACTIONS = (0.01, 0.04, 0.16)


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
CHECKPOINT_SIZES = (
    TEN_SIZES[0],
    TEN_SIZES[5],
    TEN_SIZES[7],
)  # those whose checkpoints are ladders: one of each architecture
FRACTION_SIZE = TEN_SIZES[7]  # the one that is trained on fractions


class Rung(NamedTuple):
    """One network: its folder below the common one, and its place on a ladder."""

    name: str
    folder: str
    ladder: str | None = None
    place: int = 0  # counted from the worst


def list_ten_systems() -> list[Rung]:
    """The ten systems."""
    return [Rung(size.name, size.name) for size in TEN_SIZES]


def list_ladders() -> dict[str, list[Rung]]:
    """The ladders, each from its worst rung to its best; the best is the finished system."""
    ladders = {}
    for size in CHECKPOINT_SIZES:
        name = f"checkpoints of {size.name}"
        steps = [Rung(f"{size.name}@{n}", f"{size.name}/step-{n}", name, i) for i, n in enumerate(SNAPSHOTS)]
        ladders[name] = [*steps, Rung(size.name, size.name, name, len(steps))]
    name = f"fractions of the dialogues, {FRACTION_SIZE.name}"
    parts = [
        Rung(f"{FRACTION_SIZE.name}*{f:g}", f"{FRACTION_SIZE.name}-of-{f:g}", name, i) for i, f in enumerate(FRACTIONS)
    ]
    ladders[name] = [*parts, Rung(FRACTION_SIZE.name, FRACTION_SIZE.name, name, len(parts))]
    return ladders


def list_rungs() -> list[Rung]:
    """Return every network once."""
    rungs = {rung.folder: rung._replace(ladder=None, place=0) for rung in list_ten_systems()}
    for ladder in list_ladders().values():
        rungs |= {rung.folder: rung._replace(ladder=None, place=0) for rung in ladder if rung.folder not in rungs}
    return list(rungs.values())


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
        jobs.append(job)
    for fraction in FRACTIONS:
        target = home / f"{FRACTION_SIZE.name}-of-{fraction:g}"
        jobs.append([*start, *FRACTION_SIZE.options, "--fraction", f"{fraction:g}", "-o", str(target)])
    return [[*job, "--vocabulary", str(home / "vocabulary")] for job in jobs]


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
