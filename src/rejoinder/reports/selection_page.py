"""The HTML report of a selection run: one file that stands alone, the same bytes for the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.reports.chart import Axis, Markup, axis_labels, interval_bar, make_axis
from rejoinder.reports.leaderboard import BoardRow

# The page's frame is that of every report; only what stands in it differs.
from rejoinder.reports.page import GENERATOR, csp_hash, make_environment, read_template
from rejoinder.reports.selection import accuracy_table, difference_table, group_table, position_table
from rejoinder.reports.summary import quote_command
from rejoinder.selection.accuracy import format_rank_range, summarise_differences
from rejoinder.selection.evaluate import DisputedQuestion, SelectionEvaluation
from rejoinder.types import Candidate, Question

_MAX_NAMES = 4
_MAX_CARD = 20000


@dataclass(frozen=True)
class CandidateView:
    """A candidate of a disputed question: whether it is right, and who selected it."""

    candidate: Candidate
    is_right: bool
    by: Sequence[str]


@dataclass(frozen=True)
class DisputedView:
    """A disputed question with its candidates; ``share`` is that of the systems that are right."""

    question: Question
    share: float
    candidates: Sequence[CandidateView]


def render_selection_page(found: SelectionEvaluation, about: Mapping[str, Any], folder: Path) -> str:
    """A selection run as a page."""
    style, script = (Markup(read_template(name)) for name in ("page.css", "page.js"))
    places, labels = _board_rows(found)
    return (
        make_environment()
        .get_template("selection.html")
        .render(
            generator=GENERATOR,
            policy=f"default-src 'none'; style-src {csp_hash(style)}; script-src {csp_hash(script)}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
            style=style,
            script=script,
            about=about,
            signatures=found.selected.signatures,
            chance=found.selected.chance,
            sentence=summarise_differences(found.order, found.differences),
            accuracy=accuracy_table(found),
            places=places,
            labels=labels,
            differences=difference_table(found) if found.differences else None,
            groups=[group_table(name, groups) for name, groups in found.groups.items()],
            by_place=position_table(found),
            disputed=[_make_disputed_view(found, one) for one in found.disputed],
            nobody=len(found.agreement.none),
            card=_read_card(folder),
            command=_format_command(found, about),
        )
    )


def _board_rows(found: SelectionEvaluation) -> tuple[list[BoardRow], Markup | None]:
    """A line a system, its accuracy drawn on an axis on which chance is marked."""
    chance = found.selected.chance
    plain = make_axis([end for one in found.standings for end in one.accuracy] + [chance], (0.0, 1.0))
    along = Axis(plain.low, plain.high, tuple(sorted({*plain.ticks, chance}))) if plain else None
    ahead = _find_beaten(found)
    places = [
        BoardRow(
            one.system,
            format_rank_range(one) or "–",
            one.accuracy,
            one.n,
            one.unanswered,
            interval_bar(f"accuracy of {one.system}", one.accuracy, along, chance) if along and one.n else None,
            ahead.get(one.system, "–"),
        )
        for one in found.standings
    ]
    return places, axis_labels(plain) if plain else None


def _find_beaten(found: SelectionEvaluation) -> dict[str, str]:
    beaten: dict[str, list[str]] = {}
    for one in found.differences:
        if one.survives:
            first, second = (one.first, one.second) if one.difference.value > 0 else (one.second, one.first)
            beaten.setdefault(first, []).append(second)
    others = len(found.standings) - 1
    return {
        system: ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} of {others}"
        for system, names in beaten.items()
    }


def _make_disputed_view(found: SelectionEvaluation, one: DisputedQuestion) -> DisputedView:
    question, good = found.selected.questions[one.place], found.selected.right[one.place]
    return DisputedView(
        question,
        one.share,
        [CandidateView(c, place in good, one.convinced[place]) for place, c in enumerate(question.candidates)],
    )


def _read_card(folder: Path) -> str:
    """The card of the test set in words, where the run has one."""
    path = folder / "card.md"
    return path.read_text(encoding="utf-8", errors="replace")[:_MAX_CARD] if path.is_file() else ""


def _format_command(found: SelectionEvaluation, about: Mapping[str, Any]) -> str:
    given = "-" if about["input"]["name"] == "<stdin>" else about["input"]["name"]
    systems = [word for system in found.selected.systems for word in ("--system", system)]
    seed = ["--seed", str(found.seed)] if found.seed else []
    return quote_command(["rejoinder", "select", given, *systems, *seed, "-o", "RUN", "--report", "report.html"])
