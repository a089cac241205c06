"""rejoinder tells how good a chatbot's reply is.

    import rejoinder

    data = rejoinder.read("chats.jsonl")
    scores = rejoinder.score(data, metrics=["bleu", "rouge_l"])
    print(scores)                          # means by system with intervals
    scores["bleu"]                         # one number a response

    rejoinder.score(["Fine, and you?"], references=[["Very well, thanks."]], metrics="meteor")
    rejoinder.aptness([["Hi there.", "How are you?"]], ["Fine, and you?"])    # how well each reply fits its context

Nothing heavy is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rejoinder.data.collection import Collection as Collection
    from rejoinder.data.collection import collect as collect
    from rejoinder.data.collection import from_lists as from_lists
    from rejoinder.data.inputs import read as read
    from rejoinder.data.reader import stream as stream
    from rejoinder.data.writer import write as write
    from rejoinder.errors import RejoinderError as RejoinderError
    from rejoinder.metric import Metric as Metric
    from rejoinder.metric import Row as Row
    from rejoinder.metric import SetMetric as SetMetric
    from rejoinder.metric import metric_names as metric_names
    from rejoinder.metric import parse as parse
    from rejoinder.metric import signature as signature
    from rejoinder.metrics.aptness import aptness as aptness
    from rejoinder.scoring.api import score as score
    from rejoinder.scoring.result import Scores as Scores
    from rejoinder.scoring.run import Plan as Plan
    from rejoinder.scoring.run import Run as Run
    from rejoinder.scoring.run import load as load
    from rejoinder.scoring.run import run as run
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
    "metric": ("Metric", "Row", "SetMetric", "metric_names", "parse", "signature"),
    "data.collection": ("Collection", "collect", "from_lists"),
    "data.reader": ("stream",),
    "data.writer": ("write",),
    "errors": ("RejoinderError",),
    "metrics.aptness": ("aptness",),
    "data.inputs": ("read",),
    "scoring.api": ("score",),
    "scoring.result": ("Scores",),
    "scoring.run": ("Plan", "Run", "load", "run"),
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
_HOME = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
