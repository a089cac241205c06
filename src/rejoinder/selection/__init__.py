"""Response selection (Sato et al. 2020): test sets with well-chosen false candidates, and systems that answer them."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.selection.build import BuiltTestSet as BuiltTestSet
    from rejoinder.selection.build import PoolSet as PoolSet
    from rejoinder.selection.build import find_pools as find_pools
    from rejoinder.selection.build import make_questions as make_questions
    from rejoinder.selection.evaluate import evaluate_selection as evaluate_selection
    from rejoinder.selection.exports import ExportSettings as ExportSettings
    from rejoinder.selection.label_files import LabelledQuestions as LabelledQuestions
    from rejoinder.selection.ranking.evaluation import evaluate_ranking as evaluate_ranking
    from rejoinder.selection.ranking.rank import RankingRun as RankingRun
    from rejoinder.selection.ranking.result import RankingResult as RankingResult
    from rejoinder.selection.result import SelectionResult as SelectionResult
    from rejoinder.selection.select import SelectionRun as SelectionRun
    from rejoinder.selection.settings import SelectionSettings as SelectionSettings

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "build": ("BuiltTestSet", "PoolSet", "find_pools", "make_questions"),
        "evaluate": ("evaluate_selection",),
        "exports": ("ExportSettings",),
        "label_files": ("LabelledQuestions",),
        "ranking.evaluation": ("evaluate_ranking",),
        "ranking.rank": ("RankingRun",),
        "ranking.result": ("RankingResult",),
        "result": ("SelectionResult",),
        "select": ("SelectionRun",),
        "settings": ("SelectionSettings",),
    },
)
