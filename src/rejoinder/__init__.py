"""rejoinder tells how good a chatbot's reply is.

    import rejoinder

    data = rejoinder.read("chats.jsonl")
    scores = rejoinder.score(data, metrics=["bleu", "rouge_l"])
    print(scores)                          # means by system with intervals
    scores["bleu"]                         # one number per response

    rejoinder.score(["Fine, and you?"], references=[["Very well, thanks."]], metrics="meteor")
    rejoinder.aptness([["Hi there.", "How are you?"]], ["Fine, and you?"])    # how well each reply fits its context

Verbs, types and the results that are used most are here; options and other results are one level down, in the package
of their verb (``rejoinder.augmentation.AugmentationPlan``). Nothing heavy is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rejoinder.annotation.analysis.judgements import aggregate as aggregate
    from rejoinder.annotation.analysis.judgements import agreement as agreement
    from rejoinder.annotation.analysis.power import power as power
    from rejoinder.augmentation.adaptation import adapt as adapt
    from rejoinder.augmentation.augment import augment as augment
    from rejoinder.augmentation.paraphrase import paraphrase as paraphrase
    from rejoinder.comparison.check import assert_no_worse as assert_no_worse
    from rejoinder.comparison.check import check as check
    from rejoinder.comparison.compare import Comparison as Comparison
    from rejoinder.comparison.compare import compare as compare
    from rejoinder.comparison.estimate import estimate as estimate
    from rejoinder.comparison.next_ratings import next_ as next_
    from rejoinder.comparison.trust import Trust as Trust
    from rejoinder.comparison.trust import trust as trust
    from rejoinder.data.collection import Collection as Collection
    from rejoinder.data.collection import from_lists as from_lists
    from rejoinder.data.demo import demo as demo
    from rejoinder.data.inputs import import_ as import_
    from rejoinder.data.inputs import read as read
    from rejoinder.data.reader import stream as stream
    from rejoinder.data.shards.pack import shards as shards
    from rejoinder.data.writer import write as write
    from rejoinder.errors import RejoinderError as RejoinderError
    from rejoinder.indexes.build import index as index
    from rejoinder.indexes.embedding import embed as embed
    from rejoinder.indexes.speaker_similarity import speakers as speakers
    from rejoinder.judges.arena import arena as arena
    from rejoinder.metric import Metric as Metric
    from rejoinder.metric import SetMetric as SetMetric
    from rejoinder.metric import parse as parse
    from rejoinder.metric import signature as signature
    from rejoinder.metrics.aptness import aptness as aptness
    from rejoinder.probes.attack import attack as attack
    from rejoinder.probes.occlusion import explain as explain
    from rejoinder.reports.doctor import doctor as doctor
    from rejoinder.reports.judge import judge as judge
    from rejoinder.reports.listing import list_ as list_
    from rejoinder.reports.output import report as report
    from rejoinder.reports.show import show as show
    from rejoinder.scoring.api import score as score
    from rejoinder.scoring.result import Scores as Scores
    from rejoinder.scoring.run import Plan as Plan
    from rejoinder.scoring.run import Run as Run
    from rejoinder.scoring.run import load as load
    from rejoinder.scoring.run import run as run
    from rejoinder.selection.build import build as build
    from rejoinder.selection.exports import export as export
    from rejoinder.selection.label_files import label as label
    from rejoinder.selection.ranking.rank import rank as rank
    from rejoinder.selection.select import select as select
    from rejoinder.server.annotation import annotate as annotate
    from rejoinder.situation.build import situate as situate
    from rejoinder.sources import Source as Source
    from rejoinder.sources import propose as propose
    from rejoinder.systems import System as System
    from rejoinder.table import Table as Table
    from rejoinder.types import Candidate as Candidate
    from rejoinder.types import Dialogue as Dialogue
    from rejoinder.types import Item as Item
    from rejoinder.types import Pair as Pair
    from rejoinder.types import Preference as Preference
    from rejoinder.types import Question as Question
    from rejoinder.types import Rating as Rating
    from rejoinder.types import Reference as Reference
    from rejoinder.types import Response as Response
    from rejoinder.types import Statement as Statement
    from rejoinder.types import Turn as Turn

_WHERE = {
    "annotation.analysis.judgements": ("aggregate", "agreement"),
    "annotation.analysis.power": ("power",),
    "augmentation.adaptation": ("adapt",),
    "augmentation.augment": ("augment",),
    "augmentation.paraphrase": ("paraphrase",),
    "comparison.check": ("assert_no_worse", "check"),
    "comparison.compare": ("Comparison", "compare"),
    "comparison.estimate": ("estimate",),
    "comparison.next_ratings": ("next_",),
    "comparison.trust": ("Trust", "trust"),
    "data.collection": ("Collection", "from_lists"),
    "data.demo": ("demo",),
    "data.inputs": ("import_", "read"),
    "data.reader": ("stream",),
    "data.shards.pack": ("shards",),
    "data.writer": ("write",),
    "errors": ("RejoinderError",),
    "indexes.build": ("index",),
    "indexes.embedding": ("embed",),
    "indexes.speaker_similarity": ("speakers",),
    "judges.arena": ("arena",),
    "metric": ("Metric", "SetMetric", "parse", "signature"),
    "metrics.aptness": ("aptness",),
    "probes.attack": ("attack",),
    "probes.occlusion": ("explain",),
    "reports.doctor": ("doctor",),
    "reports.judge": ("judge",),
    "reports.listing": ("list_",),
    "reports.output": ("report",),
    "reports.show": ("show",),
    "scoring.api": ("score",),
    "scoring.result": ("Scores",),
    "scoring.run": ("Plan", "Run", "load", "run"),
    "selection.build": ("build",),
    "selection.exports": ("export",),
    "selection.label_files": ("label",),
    "selection.ranking.rank": ("rank",),
    "selection.select": ("select",),
    "server.annotation": ("annotate",),
    "situation.build": ("situate",),
    "sources": ("Source", "propose"),
    "systems": ("System",),
    "table": ("Table",),
    "types": (
        "Candidate",
        "Dialogue",
        "Item",
        "Pair",
        "Preference",
        "Question",
        "Rating",
        "Reference",
        "Response",
        "Statement",
        "Turn",
    ),
}
# One level down are the options and results of the verbs: ``rejoinder.augmentation.AugmentationPlan``.
PACKAGES = (
    *("annotation", "augmentation", "comparison", "data", "engines", "indexes", "judges", "metric", "models", "probes"),
    *("reports", "scoring", "selection", "server", "situation", "sources", "systems", "table"),
)
_HOME = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        if name in PACKAGES:
            return import_module(f"rejoinder.{name}")
        _explain_lab(name)
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder.{_HOME[name]}"), name)


def _explain_lab(name: str) -> None:
    """Raise where a name comes with rejoinder-lab."""
    from rejoinder.lab import NAMES, explain_absence

    if name in NAMES:
        from importlib.util import find_spec

        from rejoinder.errors import RejoinderError  # not an AttributeError, which ``from rejoinder import`` would hide

        where = f"rejoinder_lab.{name}"
        is_here = find_spec("rejoinder_lab") is not None
        raise RejoinderError(f"rejoinder.{name} is now {where}" if is_here else explain_absence(where))


def __dir__() -> list[str]:
    return [*__all__, *PACKAGES, "__version__"]
