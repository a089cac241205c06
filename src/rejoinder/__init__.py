"""rejoinder tells how good a chatbot's reply is.

    import rejoinder

    data = rejoinder.read("chats.jsonl")
    scores = rejoinder.score(data, metrics=["bleu", "rouge_l"])
    print(scores)                          # means by system with intervals
    scores["bleu"]                         # one number per response

    rejoinder.score(["Fine, and you?"], references=[["Very well, thanks."]], metrics="meteor")
    rejoinder.aptness([["Hi there.", "How are you?"]], ["Fine, and you?"])    # how well each reply fits its context

Nothing heavy is loaded before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rejoinder.annotation.analysis.judgements import RaterReport as RaterReport
    from rejoinder.annotation.analysis.judgements import aggregate as aggregate
    from rejoinder.annotation.analysis.judgements import agreement as agreement
    from rejoinder.annotation.analysis.judgements import read_project_ratings as read_project_ratings
    from rejoinder.annotation.analysis.power import PowerAnalysis as PowerAnalysis
    from rejoinder.annotation.analysis.power import power as power
    from rejoinder.annotation.exports import ExportFile as ExportFile
    from rejoinder.annotation.exports import ImportSummary as ImportSummary
    from rejoinder.annotation.project import Project as Project
    from rejoinder.augmentation.acceptance import Acceptance as Acceptance
    from rejoinder.augmentation.adaptation import adapt as adapt
    from rejoinder.augmentation.adaptation import parse_delorean as parse_delorean
    from rejoinder.augmentation.augment import augment as augment
    from rejoinder.augmentation.commonsense.knowledge import read_knowledge as read_knowledge
    from rejoinder.augmentation.inference import GeneratedKnowledge as GeneratedKnowledge
    from rejoinder.augmentation.inference import MatchedKnowledge as MatchedKnowledge
    from rejoinder.augmentation.paraphrase import paraphrase as paraphrase
    from rejoinder.augmentation.plan import AugmentationPlan as AugmentationPlan
    from rejoinder.augmentation.retrieval import Retrieval as Retrieval
    from rejoinder.augmentation.summary import AugmentationTally as AugmentationTally
    from rejoinder.comparison.aggregation import AggregatedAspect as AggregatedAspect
    from rejoinder.comparison.check import CheckResult as CheckResult
    from rejoinder.comparison.check import assert_no_worse as assert_no_worse
    from rejoinder.comparison.check import check as check
    from rejoinder.comparison.compare import Comparison as Comparison
    from rejoinder.comparison.compare import compare as compare
    from rejoinder.comparison.estimate import PoweredEstimates as PoweredEstimates
    from rejoinder.comparison.estimate import estimate as estimate
    from rejoinder.comparison.estimate_frame import PoweredEstimate as PoweredEstimate
    from rejoinder.comparison.metric_power import MetricPower as MetricPower
    from rejoinder.comparison.metric_power import power_with_metric as power_with_metric
    from rejoinder.comparison.next_ratings import NextRatings as NextRatings
    from rejoinder.comparison.next_ratings import RatingSuggestion as RatingSuggestion
    from rejoinder.comparison.next_ratings import next_ as next_
    from rejoinder.comparison.next_ratings import next_for_estimate as next_for_estimate
    from rejoinder.comparison.preferences import PreferenceRanking as PreferenceRanking
    from rejoinder.comparison.preferences import rank_by_preference as rank_by_preference
    from rejoinder.comparison.run_comparison import RunComparison as RunComparison
    from rejoinder.comparison.trust import Trust as Trust
    from rejoinder.comparison.trust import trust as trust
    from rejoinder.data.collection import Collection as Collection
    from rejoinder.data.collection import collect as collect
    from rejoinder.data.collection import from_lists as from_lists
    from rejoinder.data.datasets import read_dataset as read_dataset
    from rejoinder.data.demo import demo as demo
    from rejoinder.data.importer import ImportOptions as ImportOptions
    from rejoinder.data.importer import ImportTally as ImportTally
    from rejoinder.data.inputs import import_ as import_
    from rejoinder.data.inputs import read as read
    from rejoinder.data.inputs.seeds import Seed as Seed
    from rejoinder.data.inputs.seeds import read_seeds as read_seeds
    from rejoinder.data.reader import stream as stream
    from rejoinder.data.shards.files import shards_of as shards_of
    from rejoinder.data.shards.manifest import ShardManifest as ShardManifest
    from rejoinder.data.shards.pack import shards as shards
    from rejoinder.data.writer import write as write
    from rejoinder.engines.base import Engine as Engine
    from rejoinder.engines.factory import open_engine as open_engine
    from rejoinder.errors import RejoinderError as RejoinderError
    from rejoinder.indexes.build import index as index
    from rejoinder.indexes.corpus import Corpus as Corpus
    from rejoinder.indexes.embedding import EmbeddedTexts as EmbeddedTexts
    from rejoinder.indexes.embedding import embed as embed
    from rejoinder.indexes.factory import open_index as open_index
    from rejoinder.indexes.one_field.base import Passage as Passage
    from rejoinder.indexes.one_field.base import passages as passages
    from rejoinder.indexes.one_field.bm25 import Bm25Index as Bm25Index
    from rejoinder.indexes.one_field.dense import DenseIndex as DenseIndex
    from rejoinder.indexes.sharded.bm25 import ShardedBm25Index as ShardedBm25Index
    from rejoinder.indexes.sharded.dense import ShardedDenseIndex as ShardedDenseIndex
    from rejoinder.indexes.speaker_similarity import SpeakerReport as SpeakerReport
    from rejoinder.indexes.speaker_similarity import speakers as speakers
    from rejoinder.judges import Judge as Judge
    from rejoinder.judges import Rubric as Rubric
    from rejoinder.judges import compare_pair as compare_pair
    from rejoinder.judges import load_rubric as load_rubric
    from rejoinder.judges import open_judge as open_judge
    from rejoinder.judges import order_consistency as order_consistency
    from rejoinder.judges import rubric_names as rubric_names
    from rejoinder.judges.arena import arena as arena
    from rejoinder.judges.arena import estimate_arena_cost as estimate_arena_cost
    from rejoinder.judges.arena_result import Arena as Arena
    from rejoinder.judges.pairs import PairComparison as PairComparison
    from rejoinder.metric import Metric as Metric
    from rejoinder.metric import Row as Row
    from rejoinder.metric import SetMetric as SetMetric
    from rejoinder.metric import metric_names as metric_names
    from rejoinder.metric import parse as parse
    from rejoinder.metric import signature as signature
    from rejoinder.metrics.aptness import aptness as aptness
    from rejoinder.models.encoder.factory import load_encoder as load_encoder
    from rejoinder.models.language_model.model import load_language_model as load_language_model
    from rejoinder.models.word_vectors.model import load_word_vectors as load_word_vectors
    from rejoinder.probes.attack import AttackPlan as AttackPlan
    from rejoinder.probes.attack import attack as attack
    from rejoinder.probes.explanation import Explanation as Explanation
    from rejoinder.probes.occlusion import explain as explain
    from rejoinder.probes.result import Robustness as Robustness
    from rejoinder.reports.doctor import Diagnosis as Diagnosis
    from rejoinder.reports.doctor import doctor as doctor
    from rejoinder.reports.judge import JudgeSummary as JudgeSummary
    from rejoinder.reports.judge import judge as judge
    from rejoinder.reports.listing import list_ as list_
    from rejoinder.reports.output import report as report
    from rejoinder.reports.reply_listing import ReplyListing as ReplyListing
    from rejoinder.reports.show import show as show
    from rejoinder.scoring.api import score as score
    from rejoinder.scoring.cost import CostEstimate as CostEstimate
    from rejoinder.scoring.cost import estimate_cost as estimate_cost
    from rejoinder.scoring.result import Scores as Scores
    from rejoinder.scoring.run import Plan as Plan
    from rejoinder.scoring.run import Run as Run
    from rejoinder.scoring.run import load as load
    from rejoinder.scoring.run import run as run
    from rejoinder.selection.build import BuiltTestSet as BuiltTestSet
    from rejoinder.selection.build import PoolSet as PoolSet
    from rejoinder.selection.build import build as build
    from rejoinder.selection.build import find_pools as find_pools
    from rejoinder.selection.build import make_questions as make_questions
    from rejoinder.selection.evaluate import evaluate_selection as evaluate_selection
    from rejoinder.selection.exports import ExportSettings as ExportSettings
    from rejoinder.selection.exports import export as export
    from rejoinder.selection.label_files import LabelledQuestions as LabelledQuestions
    from rejoinder.selection.label_files import label as label
    from rejoinder.selection.ranking.evaluation import evaluate_ranking as evaluate_ranking
    from rejoinder.selection.ranking.rank import RankingRun as RankingRun
    from rejoinder.selection.ranking.rank import rank as rank
    from rejoinder.selection.ranking.result import RankingResult as RankingResult
    from rejoinder.selection.result import SelectionResult as SelectionResult
    from rejoinder.selection.select import SelectionRun as SelectionRun
    from rejoinder.selection.select import select as select
    from rejoinder.selection.settings import SelectionSettings as SelectionSettings
    from rejoinder.server.annotation import Annotation as Annotation
    from rejoinder.server.annotation import annotate as annotate
    from rejoinder.situation.build import SituatedSet as SituatedSet
    from rejoinder.situation.build import situate as situate
    from rejoinder.situation.settings import SituationSettings as SituationSettings
    from rejoinder.sources import Moment as Moment
    from rejoinder.sources import ProposedQuestions as ProposedQuestions
    from rejoinder.sources import Source as Source
    from rejoinder.sources import parse_source as parse_source
    from rejoinder.sources import propose as propose
    from rejoinder.systems import System as System
    from rejoinder.systems import parse_system as parse_system
    from rejoinder.systems import system_signature as system_signature
    from rejoinder.systems.chat import Chat as Chat
    from rejoinder.table import Estimate as Estimate
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
    "annotation.exports": ("ExportFile", "ImportSummary"),
    "annotation.analysis.judgements": ("RaterReport", "aggregate", "agreement", "read_project_ratings"),
    "annotation.analysis.power": ("PowerAnalysis", "power"),
    "annotation.project": ("Project",),
    "augmentation.acceptance": ("Acceptance",),
    "augmentation.adaptation": ("adapt", "parse_delorean"),
    "augmentation.augment": ("augment",),
    "augmentation.inference": ("GeneratedKnowledge", "MatchedKnowledge"),
    "augmentation.commonsense.knowledge": ("read_knowledge",),
    "augmentation.paraphrase": ("paraphrase",),
    "augmentation.plan": ("AugmentationPlan",),
    "augmentation.retrieval": ("Retrieval",),
    "augmentation.summary": ("AugmentationTally",),
    "comparison.aggregation": ("AggregatedAspect",),
    "comparison.check": ("CheckResult", "assert_no_worse", "check"),
    "comparison.compare": ("Comparison", "compare"),
    "comparison.estimate": ("PoweredEstimates", "estimate"),
    "comparison.estimate_frame": ("PoweredEstimate",),
    "comparison.metric_power": ("MetricPower", "power_with_metric"),
    "comparison.next_ratings": ("NextRatings", "RatingSuggestion", "next_", "next_for_estimate"),
    "comparison.preferences": ("PreferenceRanking", "rank_by_preference"),
    "comparison.run_comparison": ("RunComparison",),
    "comparison.trust": ("Trust", "trust"),
    "data.collection": ("Collection", "collect", "from_lists"),
    "data.datasets": ("read_dataset",),
    "data.demo": ("demo",),
    "data.importer": ("ImportOptions", "ImportTally"),
    "data.inputs": ("import_", "read"),
    "data.reader": ("stream",),
    "data.inputs.seeds": ("Seed", "read_seeds"),
    "data.shards.files": ("shards_of",),
    "data.shards.manifest": ("ShardManifest",),
    "data.shards.pack": ("shards",),
    "data.writer": ("write",),
    "engines.base": ("Engine",),
    "engines.factory": ("open_engine",),
    "errors": ("RejoinderError",),
    "indexes.one_field.base": ("Passage", "passages"),
    "indexes.one_field.bm25": ("Bm25Index",),
    "indexes.build": ("index",),
    "indexes.corpus": ("Corpus",),
    "indexes.one_field.dense": ("DenseIndex",),
    "indexes.embedding": ("EmbeddedTexts", "embed"),
    "indexes.factory": ("open_index",),
    "indexes.sharded.bm25": ("ShardedBm25Index",),
    "indexes.sharded.dense": ("ShardedDenseIndex",),
    "indexes.speaker_similarity": ("SpeakerReport", "speakers"),
    "judges": (
        "Judge",
        "Rubric",
        "compare_pair",
        "load_rubric",
        "open_judge",
        "order_consistency",
        "rubric_names",
    ),
    "judges.arena": ("arena", "estimate_arena_cost"),
    "judges.arena_result": ("Arena",),
    "judges.pairs": ("PairComparison",),
    "metric": ("Metric", "Row", "SetMetric", "metric_names", "parse", "signature"),
    "metrics.aptness": ("aptness",),
    "models.encoder.factory": ("load_encoder",),
    "models.language_model.model": ("load_language_model",),
    "models.word_vectors.model": ("load_word_vectors",),
    "probes.attack": ("AttackPlan", "attack"),
    "probes.explanation": ("Explanation",),
    "probes.occlusion": ("explain",),
    "probes.result": ("Robustness",),
    "reports.doctor": ("Diagnosis", "doctor"),
    "reports.judge": ("JudgeSummary", "judge"),
    "reports.listing": ("list_",),
    "reports.output": ("report",),
    "reports.reply_listing": ("ReplyListing",),
    "reports.show": ("show",),
    "scoring.api": ("score",),
    "scoring.cost": ("CostEstimate", "estimate_cost"),
    "scoring.result": ("Scores",),
    "scoring.run": ("Plan", "Run", "load", "run"),
    "selection.build": ("BuiltTestSet", "PoolSet", "build", "find_pools", "make_questions"),
    "selection.evaluate": ("evaluate_selection",),
    "selection.exports": ("ExportSettings", "export"),
    "selection.label_files": ("LabelledQuestions", "label"),
    "selection.ranking.evaluation": ("evaluate_ranking",),
    "selection.ranking.rank": ("RankingRun", "rank"),
    "selection.ranking.result": ("RankingResult",),
    "selection.result": ("SelectionResult",),
    "selection.select": ("SelectionRun", "select"),
    "selection.settings": ("SelectionSettings",),
    "server.annotation": ("Annotation", "annotate"),
    "situation.build": ("SituatedSet", "situate"),
    "situation.settings": ("SituationSettings",),
    "sources": ("Moment", "ProposedQuestions", "Source", "parse_source", "propose"),
    "systems": ("System", "parse_system", "system_signature"),
    "systems.chat": ("Chat",),
    "table": ("Estimate", "Table"),
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
    return [*__all__, "__version__"]
