"""What can go wrong with a judge through no fault of ours."""

from __future__ import annotations

from rejoinder.errors import RejoinderError


class JudgeError(RejoinderError):
    """A judge that cannot be asked; every answer that came before is kept."""
