"""The connection to Ray: to a running cluster, or to one that is started here; its output is silenced."""

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

_PASSED_VARIABLE = "PYTHONPATH"  # sent to the nodes before a process starts there; Ray writes it to its logs
_TIMEOUT = 10  # seconds
_RAY_VARIABLES = {
    "RAY_DEDUP_LOGS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # a worker sees the GPUs of its node
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",  # no network use without consent
}


def connect_ray(workers: int | None, address: str | None) -> Any:
    """Connect to the cluster at an address, or start one here that ends with this process; return the ray module."""
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
    variables = {name: value for name, value in os.environ.items() if name == _PASSED_VARIABLE}
    atexit.register(_ignore_interrupts)  # before Ray's own shutdown, which must not be interrupted
    settings: dict[str, Any] = {
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "runtime_env": {"env_vars": variables},
    }
    try:
        if address is not None:
            _check_reachable(address)
            with _silence_stderr():
                _join_cluster(ray, address, settings)
                versions = _node_versions(ray)
        else:
            ray.init("local", num_cpus=workers or os.cpu_count() or 1, include_dashboard=False, **settings)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        where = address or "a cluster on this machine"
        reason = " ".join(str(error).split())[:200]
        raise RunError(f"{where}: no Ray cluster answers ({reason}); check the address, or leave it out") from None
    if address is not None:
        _check_versions(versions)
    return ray


def _join_cluster(ray: Any, address: str, settings: Mapping[str, Any]) -> None:
    try:
        ray.init(address=address, **settings)
    except ConnectionError as error:
        if os.environ.get("RAY_AUTH_MODE"):
            raise
        more = "something listens there; for a cluster that requires a token, set RAY_AUTH_MODE=token"
        raise ConnectionError(f"{error}: {more}") from None


def _node_versions(ray: Any) -> dict[str, str | None]:
    """Return the version of rejoinder on each computing node, by the node's address; None if it has none."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On

    def read_version() -> str | None:  # a local function is sent to the node as code, not as a name in rejoinder
        try:
            import rejoinder
        except ImportError:
            return None
        return rejoinder.__version__

    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    options = {"num_cpus": 0, "max_retries": 0}
    tasks = {
        ray.remote(**options, scheduling_strategy=On(node["NodeID"], soft=True))(read_version).remote(): node
        for node in nodes
    }
    versions: dict[str, str | None] = {}
    for task in ray.wait(list(tasks), num_returns=len(tasks), timeout=_TIMEOUT)[0] if tasks else ():
        with contextlib.suppress(ray.exceptions.RayError):  # a node that died in the meantime computes nothing either
            versions[str(tasks[task]["NodeManagerAddress"])] = ray.get(task)
    return versions


def _check_versions(versions: Mapping[str, str | None]) -> None:
    """Raise an error if a node has another version of rejoinder, or none."""
    for node, version in versions.items():
        if version != rejoinder.__version__:
            installed = "no rejoinder" if version is None else f"rejoinder {version}"
            raise RunError(
                f"the node {node} of the cluster has {installed}; install {rejoinder.__version__} on every node"
            )


@contextlib.contextmanager
def _silence_stderr() -> Iterator[None]:
    """Silence the error stream, also for native code: Ray reports a refused token twenty times."""
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _check_reachable(address: str) -> None:
    """Raise an error if nothing listens at HOST:PORT: Ray would try for a minute."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=_TIMEOUT).close()


def _ignore_interrupts() -> None:
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
