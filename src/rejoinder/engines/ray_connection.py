"""Ray, connected to a cluster or with one of our own, and quiet."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder.errors import MissingExtraError, RunError

_PASSED_VARIABLE = "PYTHONPATH"  # to the nodes before a process starts there; Ray writes it into its logs
_TIMEOUT = 10  # seconds
_RAY_VARIABLES = {
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a worker sees the GPUs of its node
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",  # no network unless asked for by name
}


def connect_ray(workers: int | None, address: str | None) -> Any:
    """Ray: the cluster at an address, or one that is started here with so many workers and ends with this process."""
    for name, value in _RAY_VARIABLES.items():
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
    passed = {name: value for name, value in os.environ.items() if name == _PASSED_VARIABLE}
    atexit.register(_ignore_interrupts)  # before Ray's own end, which must not be stopped half-way
    quiet: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "runtime_env": {"env_vars": passed},
    }
    try:
        if address is not None:
            _check_reachable(address)
            with _silence_stderr():
                _join_cluster(ray, address, quiet)
                versions = _node_versions(ray)
        else:
            ray.init("local", num_cpus=workers or os.cpu_count() or 1, include_dashboard=False, **quiet)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        where = address or "a cluster of this machine"
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"{where}: no Ray cluster answers ({reason}); check --address, or leave it out") from None
    if address is not None:
        _check_versions(versions)
    return ray


def _join_cluster(ray: Any, address: str, settings: Mapping[str, Any]) -> None:
    try:
        ray.init(address=address, **settings)
    except ConnectionError as error:
        if os.environ.get("RAY_AUTH_MODE"):
            raise
        more = "something listens there; a cluster that asks for a token needs RAY_AUTH_MODE=token here"
        raise ConnectionError(f"{error}: {more}") from None


def _node_versions(ray: Any) -> dict[str, str | None]:
    """Which rejoinder each node has that computes, by the node's address; None for none."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    def asked() -> str | None:  # within a function: so it goes to the node as code, not as a name in rejoinder
        try:
            import rejoinder
        except ImportError:
            return None
        return rejoinder.__version__

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    told = {
        ray.remote(num_cpus=0, max_retries=0, scheduling_strategy=On(node["NodeID"], soft=True))(asked).remote(): node
        for node in nodes
    }
    found: dict[str, str | None] = {}
    for one in ray.wait(list(told), num_returns=len(told), timeout=_TIMEOUT)[0] if told else ():
        with contextlib.suppress(ray.exceptions.RayError):  # a node that died meanwhile computes nothing either
            found[str(told[one]["NodeManagerAddress"])] = ray.get(one)
    return found


def _check_versions(found: Mapping[str, str | None]) -> None:
    """Raise where a node has another rejoinder, or none."""
    for node, version in found.items():
        if version != rejoinder.__version__:
            has = "no rejoinder" if version is None else f"rejoinder {version}"
            raise RunError(
                f"the node {node} of the cluster has {has}; install rejoinder {rejoinder.__version__} on every node"
            )


@contextlib.contextmanager
def _silence_stderr() -> Iterator[None]:
    """Nothing on the error stream, also from code that is not Python's: a refused token is told twenty times."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _check_reachable(address: str) -> None:
    """Raise where nothing listens at HOST:PORT: Ray would try for a minute."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()


def _ignore_interrupts() -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
