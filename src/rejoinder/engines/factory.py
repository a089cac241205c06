"""An engine by its name, as it is typed."""

from __future__ import annotations

import os

from rejoinder.engines.base import Engine
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import SpecError, nearest

ENGINE_NAMES = ("local", "ray")


def open_engine(name: str = "local", processes: int | None = None, address: str | None = None) -> Engine:
    """What computes the parts of a long command.

    - ``name``: ``local``, processes of this machine, or ``ray``, a cluster.
    - ``processes``: how many; all cores unless said.
    - ``address``: of a running cluster; one is started here unless said.

    >>> import rejoinder
    >>> rejoinder.open_engine("local", 2).workers
    2
    """
    if name == "local":
        if address is not None:
            raise SpecError("an address is of a Ray cluster; add --engine ray, or leave the address out")
        return LocalEngine(processes or os.cpu_count() or 1)
    if name == "ray":
        from rejoinder.engines.ray import RayEngine

        return RayEngine(processes, address)
    raise SpecError(f"no engine is called {name!r}; {nearest(name, list(ENGINE_NAMES))}")
