"""What a process and its descendants hold."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            waiting += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found


def resident(pid: int) -> int:
    """The memory that a process holds now, in bytes. (A peak read at its end would count that of its parent too.)"""
    with contextlib.suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
