"""Engines: who computes the parts of a long command, on this machine or on many."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.engines.base import Engine as Engine
    from rejoinder.engines.factory import open_engine as open_engine

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "base": ("Engine",),
        "factory": ("open_engine",),
    },
)
