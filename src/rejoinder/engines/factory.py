"""Opens an engine by its name."""

from __future__ import annotations

import os

from rejoinder.engines.base import Engine
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import SpecError, nearest

ENGINE_NAMES = ("local", "ray")


def open_engine(name: str = "local", processes: int | None = None, address: str | None = None) -> Engine:
    """Open the engine that computes the tasks of a long command.

    - ``name``: ``local`` for processes on this machine, or ``ray`` for a Ray cluster.
    - ``processes``: how many; by default one per core.
    - ``address``: of a running cluster; by default one is started here.

    >>> import rejoinder
    >>> rejoinder.engines.open_engine("local", 2).workers
    2
    """
    if name == "local":
        if address is not None:
            raise SpecError("an address needs the engine 'ray'; choose that engine, or leave the address out")
        return LocalEngine(processes or os.cpu_count() or 1)
    if name == "ray":
        from rejoinder.engines.ray import RayEngine

        return RayEngine(processes, address)
    raise SpecError(f"no engine is called {name!r}; {nearest(name, list(ENGINE_NAMES))}")
