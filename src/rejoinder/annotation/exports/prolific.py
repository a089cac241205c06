"""Links for Prolific: one shared link, which participants open with their Prolific id, or one link per place.

Prolific replaces ``{{%PROLIFIC_PID%}}`` by the participant's id. At the end a rater is sent to the project's
``completion``, which for Prolific is https://app.prolific.com/submissions/complete?cc=CODE.
"""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.data.tables.spreadsheet import encode_spreadsheet

_PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


def study_link(link: str) -> str:
    """Return a shared link with Prolific's placeholders."""
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in _PARAMETERS)
    return f"{link}{'&' if '?' in link else '?'}{query}"


def links_csv(links: Mapping[str, str]) -> bytes:
    """Return personal links by rater as CSV, one per row, each for one participant."""
    return encode_spreadsheet(("rater", "link", "places"), ((rater, link, 1) for rater, link in links.items()))
