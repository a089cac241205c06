"""People in the loop: a project's units, who answers them, where the answers are kept, and how they leave again."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.annotation.analysis.judgements import RaterReport as RaterReport
    from rejoinder.annotation.analysis.judgements import read_project_ratings as read_project_ratings
    from rejoinder.annotation.analysis.power import PowerAnalysis as PowerAnalysis
    from rejoinder.annotation.exports import ExportFile as ExportFile
    from rejoinder.annotation.exports import ImportSummary as ImportSummary
    from rejoinder.annotation.project import Project as Project

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "analysis.judgements": ("RaterReport", "read_project_ratings"),
        "analysis.power": ("PowerAnalysis",),
        "exports": ("ExportFile", "ImportSummary"),
        "project": ("Project",),
    },
)
