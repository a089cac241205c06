"""Ray, connected to a cluster or with one of our own, and quiet."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import socket
from typing import Any

from rejoinder.errors import MissingExtraError, RunError

_PASSED_ON = ("PYTHONPATH", "REJOINDER_")  # variables of these names go to the nodes
_PATIENCE = 10  # seconds
_QUIET = {
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",  # no network unless asked for by name
}


def connected(workers: int | None, address: str | None) -> Any:
    """Ray: the cluster at an address, or one that is started here with so many workers and ends with this process."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtraError("ray", "ray", "--engine ray") from None
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    if ray.is_initialized():
        return ray
    passed = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
    atexit.register(_without_interrupts)  # before Ray's own end, which must not be stopped half-way
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "runtime_env": {"env_vars": passed}}
    try:
        if address is not None:
            _knock(address)
            ray.init(address=address, **quiet)
        else:
            ray.init("local", num_cpus=workers or os.cpu_count() or 1, include_dashboard=False, **quiet)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        where = address or "a cluster of this machine"
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"{where}: no Ray cluster answers ({reason}); check --address, or leave it out") from None
    return ray


def _knock(address: str) -> None:
    """Raise where nothing listens at HOST:PORT: Ray would try for a minute."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _without_interrupts() -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
