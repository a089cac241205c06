"""Counts of failed requests to endpoints in this process: every failure by its cause, and every retry.

A worker in another process returns its counts with its results, and the receiver adds them here.
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
_RUN_ID = uuid.uuid4().hex
_lock = threading.Lock()
_counts: Counter[str] = Counter()


def count_request(cause: str) -> None:
    """Count a failure under its cause, or a retried request under RETRIES."""
    with _lock:
        _counts[cause] += 1


def get_request_counts() -> Counter[str]:
    """Return all counts so far."""
    with _lock:
        return _counts.copy()


@contextmanager
def fill_request_report(report: dict[str, Any]) -> Iterator[None]:
    """Fill a report of plain values with what is counted inside the block."""
    before = get_request_counts()
    yield
    report |= {"process": _process_id(), "counts": dict(get_request_counts() - before)}


def add_request_report(report: Mapping[str, Any]) -> None:
    """Add the counts of another process; those of this process are counted already."""
    if report["process"] != _process_id():
        with _lock:
            _counts.update(report["counts"])


def _process_id() -> str:
    return f"{_RUN_ID}-{os.getpid()}"  # a forked process has the run id of its parent
