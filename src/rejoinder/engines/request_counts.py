"""Requests to endpoints that went wrong, counted in this process: every failure by its cause, every request sent again.

A worker in another process reports what it counted with its results, and whoever takes them adds it here.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

RETRIES = "retries"
_NAME = uuid.uuid4().hex
_lock = threading.Lock()
_counts: Counter[str] = Counter()


def count(cause: str) -> None:
    """Count a failure under its cause, or a request that is sent again under RETRIES."""
    with _lock:
        _counts[cause] += 1


def counted() -> Counter[str]:
    """All counts up to now."""
    with _lock:
        return _counts.copy()


@contextmanager
def reporting(report: dict[str, Any]) -> Iterator[None]:
    """Fill a report, in plain values, with what is counted within."""
    before = counted()
    yield
    report |= {"process": _process(), "counts": dict(counted() - before)}


def add(report: Mapping[str, Any]) -> None:
    """Count what another process reported; a report of this process is counted already."""
    if report["process"] != _process():
        with _lock:
            _counts.update(report["counts"])


def _process() -> str:
    return f"{_NAME}-{os.getpid()}"  # a process that was forked has the name of its parent
