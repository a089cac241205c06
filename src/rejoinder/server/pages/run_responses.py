"""One page of a long list, and the conversation of a reply for the Try page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rejoinder.errors import SpecError
from rejoinder.reports.findings import RunFindings

PAGE_SIZE = 50


def paginate(lines: Sequence[Any], number: int) -> tuple[Sequence[Any], dict[str, int]]:
    """Return one page of a long list, and its position."""
    pages = max(1, math.ceil(len(lines) / PAGE_SIZE))
    if number > pages:
        raise SpecError(f"there is no page {number}; the last page is {pages}")
    return lines[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], {"page": number, "pages": pages, "n": len(lines)}


class RunResponses:
    """The replies of a run by their positions in it."""

    def __init__(self, findings: RunFindings) -> None:
        self.findings = findings


def conversation_object(replies: RunResponses, place: int) -> dict[str, Any]:
    """Return one reply with its context and its references."""
    findings = replies.findings
    if not 0 <= place < len(findings.scores):
        raise SpecError(f"this run has no reply {place}; it has {len(findings.scores):,}")
    pair = findings.data.pair(findings.scores.responses[place])
    return {
        "reply": place,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in pair.item.context],
        "references": [{"text": one.text, "source": one.source} for one in pair.item.references],
        "replies": [{"reply": place, "system": pair.response.system, "text": pair.response.text, "here": True}],
    }
