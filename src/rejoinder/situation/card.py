"""The card of a situated set: how its distractors and statements were chosen, and who graded its candidates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

import rejoinder
from rejoinder.data.questions import CATEGORIES
from rejoinder.errors import InputError
from rejoinder.selection.card import card_paths
from rejoinder.situation.distractors import FilterRound
from rejoinder.situation.settings import SituationSettings
from rejoinder.table import Cell, Table, to_markdown
from rejoinder.types import Question


def make_situation_card(
    questions: Sequence[Question],
    settings: SituationSettings,
    encoder: str,
    counts: Mapping[str, int],
    rounds: Sequence[FilterRound],
    inputs: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the card of a situated set."""
    statements = [(one.category, bool(one.relevant)) for question in questions for one in question.situation]
    by_category = Counter(statements)
    return {
        "rejoinder": rejoinder.__version__,
        "kind": "situated",
        "questions": len(questions),
        "settings": asdict(settings),
        "encoder": encoder,
        "inputs": [dict(one) for one in inputs],
        "counts": dict(counts),
        "rounds": [asdict(one) | {"right": round(one.right, 4)} for one in rounds],
        "statements": {
            category: {"relevant": by_category[category, True], "added": by_category[category, False]}
            for category in CATEGORIES
        },
        "polarities": dict(sorted(Counter(str(question.meta["polarity"]) for question in questions).items())),
        "grades": None,
    }


def read_situation_card(path: str | Path) -> dict[str, Any]:
    """Return the card next to a set; empty if there is none."""
    json_path = card_paths(path)[0]
    try:
        card = orjson.loads(json_path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        card = None
    if not isinstance(card, dict) or card.get("kind") != "situated":
        raise InputError(f"{json_path.name}: is not the card of a situated set; restore it, or delete it")
    return card


def render_situation_card(card: Mapping[str, Any], name: str) -> str:
    """Return the card as a page in Markdown."""
    grades = card["grades"]
    status = (
        f"graded by people ({grades['method']})" if grades else "**not graded yet**: which reply is best is unknown"
    )
    settings = card["settings"]
    head = (
        f"# {name}\n\n{card['questions']:,} requests with {settings['candidates']} candidates and "
        f"{settings['statements']} statements about the situation, {status}. Distractors by Algorithms 1 and 2 of "
        f"Otani et al. 2023, statements by their Appendix B.2, embeddings by {card['encoder']}. Made by rejoinder "
        f"{card['rejoinder']} with the seed {settings['seed']}.\n"
    )
    tables = [
        situation_step_table(card),
        _round_table(card),
        _statement_table(card),
        _grade_table(card),
        _input_table(card),
    ]
    return "\n".join([head, *(to_markdown(table) for table in tables if table is not None)])


def situation_step_table(card: Mapping[str, Any]) -> Table:
    """The counts of each step."""
    polarities = ", ".join(f"{n:,} {name}" for name, n in card["polarities"].items())
    return Table(
        "What happened at each step",
        ["step", "n"],
        [[what, n] for what, n in card["counts"].items()],
        [f"Polarity: {polarities}."],
    )


def _round_table(card: Mapping[str, Any]) -> Table | None:
    rows: list[list[Cell]] = [
        [n, one["distractors"], one["easy"], one["replaced"], float(one["right"])]
        for n, one in enumerate(card["rounds"], start=1)
    ]
    notes = ["right: the share of questions whose reference has the regression's highest score, before replacements."]
    heads = ["round", "distractors", "easy", "replaced", "right"]
    return Table("Adversarial filtering", heads, rows, notes) if rows else None


def _statement_table(card: Mapping[str, Any]) -> Table:
    rows: list[list[Cell]] = [[name, n["relevant"], n["added"]] for name, n in card["statements"].items()]
    return Table("Statements", ["category", "relevant", "added"], rows)


def _grade_table(card: Mapping[str, Any]) -> Table | None:
    if not (grades := card["grades"]):
        return None
    rows: list[list[Cell]] = [[name, n] for name, n in grades["counts"].items()]
    alpha = "–" if grades["alpha"] is None else f"{grades['alpha']:.3f}"
    notes = [f"{grades['ratings']:,} ratings by {grades['raters']:,} raters; Krippendorff's alpha (ordinal) {alpha}."]
    return Table("Grades", ["what", "n"], rows, notes)


def _input_table(card: Mapping[str, Any]) -> Table | None:
    rows: list[list[Cell]] = [[one["name"], one["licence"], one["sha256"][:12]] for one in card["inputs"]]
    return Table("Inputs", ["name", "licence", "sha256"], rows) if rows else None
