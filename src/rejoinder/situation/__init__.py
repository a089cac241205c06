"""Situated test sets (SUGAR, Otani et al. 2023): requests, goals, replies and statements in, questions out."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.situation.build import SituatedSet as SituatedSet
    from rejoinder.situation.settings import SituationSettings as SituationSettings

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "build": ("SituatedSet",),
        "settings": ("SituationSettings",),
    },
)
