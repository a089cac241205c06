"""The servers: pages to explore and an HTTP API (``serve``), and the pages on which people judge (``annotate``)."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.server.annotation import Annotation as Annotation

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "annotation": ("Annotation",),
    },
)
