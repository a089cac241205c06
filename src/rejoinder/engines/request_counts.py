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
_RUN_ID = uuid.uuid4().hex
_lock = threading.Lock()
_counts: Counter[str] = Counter()


def count(cause: str) -> None:
    """Count a failure under its cause, or a request that is sent again under RETRIES."""
    with _lock:
        _counts[cause] += 1


def get_counts() -> Counter[str]:
    """All counts up to now."""
    with _lock:
        return _counts.copy()


@contextmanager
def fill_report(report: dict[str, Any]) -> Iterator[None]:
    """Fill a report, in plain values, with what is counted within."""
    before = get_counts()
    yield
    report |= {"process": _process_id(), "counts": dict(get_counts() - before)}


def add_report(report: Mapping[str, Any]) -> None:
    """Count what another process reported; a report of this process is counted already."""
    if report["process"] != _process_id():
        with _lock:
            _counts.update(report["counts"])


def _process_id() -> str:
    return f"{_RUN_ID}-{os.getpid()}"  # a process that was forked has the name of its parent
