"""Counters of the server, in Prometheus' text format."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import rejoinder

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class RequestCounters:
    """Requests by path, method and status, and how long they took; only paths of the API description are counted."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, list[float]] = {}  # per path: counts per bucket, total count, sum of seconds

    def add(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        self.requests[path, method, status] += 1
        counts = self._seconds.setdefault(path, [0.0] * (len(BUCKETS) + 2))
        for n, bound in enumerate(BUCKETS):
            counts[n] += seconds <= bound
        counts[-2] += 1
        counts[-1] += seconds

    def text(self, gauges: Mapping[str, tuple[str, str, float]]) -> str:
        """Return all counters as text; ``gauges`` are current values by name with labels: kind, description, value."""
        lines = _metric_head("rejoinder_info", "gauge", "the running version")
        lines.append(f'rejoinder_info{{version="{rejoinder.__version__}"}} 1')
        lines += _metric_head("rejoinder_requests_total", "counter", "requests answered")
        for (path, method, status), count in sorted(self.requests.items()):
            lines.append(f'rejoinder_requests_total{{path="{path}",method="{method}",status="{status}"}} {count}')
        lines += _metric_head("rejoinder_request_seconds", "histogram", "how long requests took")
        for path, counts in sorted(self._seconds.items()):
            lines += _histogram_lines(path, counts)
        described: set[str] = set()
        for name, (kind, about, value) in gauges.items():
            base = name.partition("{")[0]
            lines += _metric_head(base, kind, about) if base not in described else []
            described.add(base)
            lines.append(f"{name} {value:g}")
        return "\n".join(lines) + "\n"


def memory_bytes() -> float | None:
    """Return the resident memory of this process in bytes; None if the operating system does not say."""
    try:
        return float(int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError, IndexError):
        return None


def _metric_head(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _histogram_lines(path: str, counts: list[float]) -> Iterable[str]:
    name = "rejoinder_request_seconds"
    for bound, count in zip(BUCKETS, counts, strict=False):
        yield f'{name}_bucket{{path="{path}",le="{bound:g}"}} {count:.0f}'
    yield f'{name}_bucket{{path="{path}",le="+Inf"}} {counts[-2]:.0f}'
    yield f'{name}_sum{{path="{path}"}} {counts[-1]:.6f}'
    yield f'{name}_count{{path="{path}"}} {counts[-2]:.0f}'
