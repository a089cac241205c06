"""rejoinder-lab reproduces the papers behind rejoinder and trains its models.

    import rejoinder_lab

    rejoinder_lab.reproduce("scarce-overlap")                # a paper's table, published beside measured
    rejoinder_lab.train("ssrem", corpus, "ssrem/")           # a model folder, used as a metric

Its commands, lists, metrics and weights come into rejoinder by entry points, as those of any plug-in.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejoinder_lab.models.grade.keywords import write_rarity as write_rarity
    from rejoinder_lab.papers import reproduce as reproduce
    from rejoinder_lab.papers.base import Reproduction as Reproduction
    from rejoinder_lab.training.idk import IdkRecipe as IdkRecipe
    from rejoinder_lab.training.recipes import AdemRecipe as AdemRecipe
    from rejoinder_lab.training.recipes import AptnessRecipe as AptnessRecipe
    from rejoinder_lab.training.recipes import CometRecipe as CometRecipe
    from rejoinder_lab.training.recipes import DynaEvalRecipe as DynaEvalRecipe
    from rejoinder_lab.training.recipes import GeneratorRecipe as GeneratorRecipe
    from rejoinder_lab.training.recipes import GradeRecipe as GradeRecipe
    from rejoinder_lab.training.recipes import HeadRecipe as HeadRecipe
    from rejoinder_lab.training.recipes import NupRecipe as NupRecipe
    from rejoinder_lab.training.recipes import RankerRecipe as RankerRecipe
    from rejoinder_lab.training.recipes import StatementRecipe as StatementRecipe
    from rejoinder_lab.training.recipes import UslHRecipe as UslHRecipe
    from rejoinder_lab.training.recipes import UsrRecipe as UsrRecipe
    from rejoinder_lab.training.speaker.trainer import ScorerRecipe as ScorerRecipe
    from rejoinder_lab.training.train import TrainedModel as TrainedModel
    from rejoinder_lab.training.train import train as train

_WHERE = {
    "models.grade.keywords": ("write_rarity",),
    "papers": ("reproduce",),
    "papers.base": ("Reproduction",),
    "training.idk": ("IdkRecipe",),
    "training.recipes": (
        "AdemRecipe",
        "AptnessRecipe",
        "CometRecipe",
        "DynaEvalRecipe",
        "GeneratorRecipe",
        "GradeRecipe",
        "HeadRecipe",
        "NupRecipe",
        "RankerRecipe",
        "StatementRecipe",
        "UslHRecipe",
        "UsrRecipe",
    ),
    "training.speaker.trainer": ("ScorerRecipe",),
    "training.train": ("TrainedModel", "train"),
}
_HOME = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rejoinder_lab' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder_lab.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
