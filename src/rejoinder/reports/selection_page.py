"""The HTML report of a selection run: one self-contained file, the same bytes for the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.reports.chart import ChartAxis, Markup, axis_labels, interval_bar, make_axis

# The page uses the same frame as every report.
from rejoinder.reports.environment import GENERATOR, csp_hash, make_environment, read_template
from rejoinder.reports.leaderboard import BoardRow
from rejoinder.reports.selection import (
    accuracy_table,
    candidate_group_table,
    position_table,
    selection_difference_table,
)
from rejoinder.reports.summary import quote_command
from rejoinder.selection.accuracy import format_rank_range, summarise_lead
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
    """A disputed question with its candidates; ``share`` is the share of systems that are right."""

    question: Question
    share: float
    candidates: Sequence[CandidateView]


def render_selection_page(evaluation: SelectionEvaluation, about: Mapping[str, Any], folder: Path) -> str:
    """The report page of a selection run."""
    style, script = (Markup(read_template(name)) for name in ("page.css", "page.js"))
    places, labels = _board_rows(evaluation)
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
            signatures=evaluation.selected.signatures,
            chance=evaluation.selected.chance,
            sentence=summarise_lead(evaluation.order, evaluation.differences),
            accuracy=accuracy_table(evaluation),
            places=places,
            labels=labels,
            differences=selection_difference_table(evaluation) if evaluation.differences else None,
            groups=[candidate_group_table(name, groups) for name, groups in evaluation.groups.items()],
            by_place=position_table(evaluation),
            disputed=[_make_disputed_view(evaluation, disputed) for disputed in evaluation.disputed],
            nobody=len(evaluation.agreement.none),
            card=_read_card(folder),
            command=_format_command(evaluation, about),
        )
    )


def _board_rows(evaluation: SelectionEvaluation) -> tuple[list[BoardRow], Markup | None]:
    """One line per system, with its accuracy drawn on an axis where chance is marked."""
    chance = evaluation.selected.chance
    plain = make_axis([end for standing in evaluation.standings for end in standing.accuracy] + [chance], (0.0, 1.0))
    along = ChartAxis(plain.low, plain.high, tuple(sorted({*plain.ticks, chance}))) if plain else None
    ahead = _find_beaten(evaluation)
    places = [
        BoardRow(
            standing.system,
            format_rank_range(standing) or "–",
            standing.accuracy,
            standing.n,
            standing.unanswered,
            interval_bar(f"accuracy of {standing.system}", standing.accuracy, along, chance)
            if along and standing.n
            else None,
            ahead.get(standing.system, "–"),
        )
        for standing in evaluation.standings
    ]
    return places, axis_labels(plain) if plain else None


def _find_beaten(evaluation: SelectionEvaluation) -> dict[str, str]:
    beaten: dict[str, list[str]] = {}
    for difference in evaluation.differences:
        if difference.survives:
            first, second = (
                (difference.first, difference.second)
                if difference.difference.value > 0
                else (difference.second, difference.first)
            )
            beaten.setdefault(first, []).append(second)
    others = len(evaluation.standings) - 1
    return {
        system: ", ".join(names) if len(names) <= _MAX_NAMES else f"{len(names)} of {others}"
        for system, names in beaten.items()
    }


def _make_disputed_view(evaluation: SelectionEvaluation, disputed: DisputedQuestion) -> DisputedView:
    question, right = evaluation.selected.questions[disputed.place], evaluation.selected.right[disputed.place]
    return DisputedView(
        question,
        disputed.share,
        [CandidateView(c, place in right, disputed.convinced[place]) for place, c in enumerate(question.candidates)],
    )


def _read_card(folder: Path) -> str:
    """The text of the test set's card, if the run has one."""
    path = folder / "card.md"
    return path.read_text(encoding="utf-8", errors="replace")[:_MAX_CARD] if path.is_file() else ""


def _format_command(evaluation: SelectionEvaluation, about: Mapping[str, Any]) -> str:
    input_name = "-" if about["input"]["name"] == "<stdin>" else about["input"]["name"]
    systems = [word for system in evaluation.selected.systems for word in ("--system", system)]
    seed = ["--seed", str(evaluation.seed)] if evaluation.seed else []
    return quote_command(["rejoinder", "select", input_name, *systems, *seed, "-o", "RUN", "--report", "report.html"])
