"""Links for Prolific: one for all, through which participants come in under their Prolific id, or one for each place.

Prolific puts its participants' ids where ``{{%PROLIFIC_PID%}}`` stands. At the end a rater is sent to the project's
``completion``, which for Prolific is https://app.prolific.com/submissions/complete?cc=CODE.
"""

from __future__ import annotations

from collections.abc import Mapping

from rejoinder.annotation.exports.csv import to_csv

_PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


def study_link(link: str) -> str:
    """The address of an entrance as a Prolific study takes it."""
    asked = "&".join(f"{name}={{{{%{name}%}}}}" for name in _PARAMETERS)
    return f"{link}{'&' if '?' in link else '?'}{asked}"


def links_csv(links: Mapping[str, str]) -> bytes:
    """Personal links by rater, one a line, each for one participant."""
    return to_csv(("rater", "link", "places"), ((rater, link, 1) for rater, link in links.items()))
