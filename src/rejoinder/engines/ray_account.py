"""How often tasks were begun on a Ray cluster: Ray itself begins them for ever again, and does not tell."""

from __future__ import annotations

from collections import Counter
from typing import Any

MOST = 6  # times that a task is begun: it may be what kills the processes


class Account:
    """Counts beginnings by flow and number; an actor on the driver's node."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[str, int]] = Counter()

    def begin(self, flow: str, number: int) -> int:
        """How often a task was begun, this time included."""
        self._begun[flow, number] += 1
        return self._begun[flow, number]

    def end(self, flow: str) -> None:
        """Forget a flow."""
        for key in [key for key in self._begun if key[0] == flow]:
            del self._begun[key]


def open_account(ray: Any) -> Any:
    """The actor, where it lives as long as the driver."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)(Account)
    return kind.remote()
