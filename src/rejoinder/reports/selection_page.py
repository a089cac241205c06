"""The HTML report of a selection run: one file that stands alone, the same bytes for the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.reports.chart import Axis, Markup, axis, axis_labels, interval_bar
from rejoinder.reports.leaderboard import Place

# The page's frame is that of every report; only what stands in it differs.
from rejoinder.reports.page import GENERATOR, digest, environment, template_text
from rejoinder.reports.selection import accuracy_table, difference_table, group_table, place_table
from rejoinder.reports.summary import typed
from rejoinder.selection.accuracy import range_of_ranks
from rejoinder.selection.disagreement import Disputed
from rejoinder.selection.evaluate import Examined
from rejoinder.selection.significance import sentence
from rejoinder.types import Candidate, Question

_MOST_NAMES = 4
_LONGEST_CARD = 20000


@dataclass(frozen=True)
class Shown:
    """A candidate of a disputed question: whether it is right, and who selected it."""

    candidate: Candidate
    is_right: bool
    by: Sequence[str]


@dataclass(frozen=True)
class Exhibit:
    """A disputed question with its candidates; ``share`` is that of the systems that are right."""

    question: Question
    share: float
    candidates: Sequence[Shown]


def render(found: Examined, about: Mapping[str, Any], folder: Path) -> str:
    """A selection run as a page."""
    style, script = (Markup(template_text(name)) for name in ("page.css", "page.js"))
    places, labels = _places(found)
    return (
        environment()
        .get_template("selection.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {digest(style)}; script-src {digest(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            about=about,
            signatures=found.selected.signatures,
            chance=found.selected.chance,
            sentence=sentence(found.order, found.differences),
            accuracy=accuracy_table(found),
            places=places,
            labels=labels,
            differences=difference_table(found) if found.differences else None,
            groups=[group_table(name, groups) for name, groups in found.groups.items()],
            by_place=place_table(found),
            disputed=[_exhibit(found, one) for one in found.disputed],
            nobody=len(found.agreement.none),
            card=_card(folder),
            command=_command(found, about),
        )
    )


def _places(found: Examined) -> tuple[list[Place], Markup | None]:
    """A line a system, its accuracy drawn on an axis on which chance is marked."""
    chance = found.selected.chance
    plain = axis([end for one in found.standings for end in one.accuracy] + [chance], (0.0, 1.0))
    along = Axis(plain.low, plain.high, tuple(sorted({*plain.ticks, chance}))) if plain else None
    ahead = _ahead(found)
    places = [
        Place(
            one.system,
            range_of_ranks(one) or "–",
            one.accuracy,
            one.n,
            one.unanswered,
            interval_bar(f"accuracy of {one.system}", one.accuracy, along, chance) if along and one.n else None,
            ahead.get(one.system, "–"),
        )
        for one in found.standings
    ]
    return places, axis_labels(plain) if plain else None


def _ahead(found: Examined) -> dict[str, str]:
    beaten: dict[str, list[str]] = {}
    for one in found.differences:
        if one.survives:
            first, second = (one.first, one.second) if one.difference.value > 0 else (one.second, one.first)
            beaten.setdefault(first, []).append(second)
    others = len(found.standings) - 1
    return {
        system: ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} of {others}"
        for system, names in beaten.items()
    }


def _exhibit(found: Examined, one: Disputed) -> Exhibit:
    question, good = found.selected.questions[one.place], found.selected.right[one.place]
    return Exhibit(
        question,
        one.share,
        [Shown(c, place in good, one.convinced[place]) for place, c in enumerate(question.candidates)],
    )


def _card(folder: Path) -> str:
    """The card of the test set in words, where the run has one."""
    path = folder / "card.md"
    return path.read_text(encoding="utf-8", errors="replace")[:_LONGEST_CARD] if path.is_file() else ""


def _command(found: Examined, about: Mapping[str, Any]) -> str:
    given = "-" if about["input"]["name"] == "<stdin>" else about["input"]["name"]
    systems = [word for system in found.selected.systems for word in ("--system", system)]
    seed = ["--seed", str(found.seed)] if found.seed else []
    return typed(["rejoinder", "select", given, *systems, *seed, "-o", "RUN", "--report", "report.html"])
