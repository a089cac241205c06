"""Tables and pages: what people see of a result."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.reports.doctor import Diagnosis as Diagnosis
    from rejoinder.reports.judge import JudgeSummary as JudgeSummary
    from rejoinder.reports.reply_listing import ReplyListing as ReplyListing

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "doctor": ("Diagnosis",),
        "judge": ("JudgeSummary",),
        "reply_listing": ("ReplyListing",),
    },
)
