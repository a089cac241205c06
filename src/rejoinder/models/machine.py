"""What the machine offers to a model: how many threads it should compute with."""

from __future__ import annotations

import os
from pathlib import Path

from rejoinder.errors import SpecError

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def threads() -> int:
    """How many threads to compute with: $REJOINDER_THREADS, else the cores that this process may use."""
    chosen = os.environ.get("REJOINDER_THREADS")
    if chosen:
        if not chosen.isdecimal() or int(chosen) < 1:
            raise SpecError(f"REJOINDER_THREADS must be a number from 1 on, not {chosen!r}")
        return int(chosen)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, _quota() or cores))


def _quota() -> int | None:
    """How many cores a container may use, where one is set."""
    try:
        allowed, period = _QUOTA.read_text().split()
        return None if allowed == "max" else -(-int(allowed) // int(period))
    except (OSError, ValueError):
        return None
