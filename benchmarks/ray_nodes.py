"""A Ray cluster on this machine whose nodes are processes of their own: started, killed and stopped one by one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parent.parent
_AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
_TASK = "compute_batch"
_STORE = 80 * 2**20  # bytes of a node's object store


@dataclass
class Nodes:
    """A head that computes nothing, and nodes with one core each; ``pinned`` ones have a core of the machine."""

    n: int = 2
    pinned: bool = False
    _cluster: Any = None
    _nodes: list[Any] = field(default_factory=list)
    _folder: str = ""

    def __enter__(self) -> Nodes:
        """Start them."""
        os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"})
        from ray.cluster_utils import Cluster

        Path(tempfile.gettempdir(), "ray").mkdir(exist_ok=True)  # Ray notes the address there, wherever its session is
        self._folder = tempfile.mkdtemp(prefix="rj-")  # short: sockets lie in it
        head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": self._folder, "object_store_memory": _STORE}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(self.n):
            self.add()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop them all."""
        self._cluster.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """Where drivers find the cluster."""
        return str(self._cluster.address)

    @property
    def folder(self) -> Path:
        """Where Ray keeps its sessions and logs."""
        return Path(self._folder)

    def add(self) -> None:
        """One node more."""
        mine = os.sched_getaffinity(0) if self.pinned else set()
        if mine:  # what is started takes over on which cores it may run
            os.sched_setaffinity(0, {sorted(mine)[len(self._nodes) % len(mine)]})
        try:
            self._nodes.append(self._cluster.add_node(num_cpus=1, object_store_memory=_STORE))
        finally:
            if mine:
                os.sched_setaffinity(0, mine)

    def workers(self) -> list[int]:
        """The processes that compute, on all nodes."""
        children = [pid for node in self._nodes for pid in children_of(_raylet(node))]
        titles = {pid: _title(pid) for pid in children}
        return [pid for pid, title in titles.items() if title.startswith("ray::") and title not in _AGENTS]

    def is_computing(self) -> bool:
        """Whether some process has a task."""
        return bool(self._computing())

    def _computing(self) -> list[int]:
        return sorted(pid for pid in self.workers() if _TASK in _title(pid))

    def kill_worker(self, number: int) -> bool:
        """Kill one of the processes that are computing; whether there was one."""
        found = self._computing()
        return bool(found) and killed(found[number % len(found)])

    def kill_node(self, number: int) -> bool:
        """Kill a node with all its processes at once."""
        node = self._nodes.pop(number % len(self._nodes))
        raylet = _raylet(node)
        for pid in [raylet, *children_of(raylet)]:
            killed(pid)
        return True

    def restore(self) -> None:
        """As many nodes as in the beginning."""
        while len(self._nodes) < self.n:
            self.add()
        deadline = time.monotonic() + 30
        while self.workers() and time.monotonic() < deadline:  # those of a driver that is gone
            time.sleep(0.1)


def driver(args: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """A rejoinder command in a process group of its own."""
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "REJOINDER_THREADS": "1", **options.pop("env", {})}
    command = [sys.executable, "-m", "rejoinder", *map(str, args)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        command, env=environment, start_new_session=True, preexec_fn=interruptible, **pipes, **options
    )


def interruptible() -> None:
    """Ctrl-C has its usual meaning, also where who started this ignores it, as shells do for what runs behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def children_of(parent: int) -> list[int]:
    """The processes that a process started, and theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = list[int](), [parent]
    while waiting:
        mine = parents.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def killed(pid: int) -> bool:
    """Kill a process; whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _raylet(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""
