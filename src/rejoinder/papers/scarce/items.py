"""Gupta's 100 contexts as their corpus spells them, with the turns that follow: what SCARCE augments.

The published items are lower-case, cut into words, and end with the reply. DailyDialog's test file has the same turns
as they were written, and the future that retrieval wants.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.papers.base import Figure
from rejoinder.scoring.api import score
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.correlation import Method
from rejoinder.types import Dialogue, Item, Reference


def restore_spelling(items: Iterable[Item], dialogues: Mapping[str, Dialogue]) -> list[Item]:
    """The items in the spelling of their dialogues: `73_4` ends with turn 4 of dialogue `test-73`, counted from 0."""
    return [_restore_item(item, dialogues) for item in items]


def _restore_item(item: Item, dialogues: Mapping[str, Dialogue]) -> Item:
    last = int(item.id.rpartition("_")[2])
    found = dialogues.get(item.dialogue or "")
    turns = found.turns if found else ()
    told = [*(turn.text for turn in item.context), item.references[0].text]
    written = turns[max(0, last + 1 - len(item.context)) : last + 2]
    if [_letters(text) for text in told] != [_letters(turn.text) for turn in written]:
        raise InputError(
            f"the item {item.id} is not what stands in {item.dialogue} of dailydialog/test; the reproduction needs the "
            "copy of DailyDialog that `rejoinder data show dailydialog/test` describes"
        )
    *context, reply = written
    return replace(item, context=tuple(context), references=(Reference(reply.text),), future=turns[last + 2 :])


def _letters(text: str) -> str:
    """What is left of a text when case and spacing are gone."""
    return re.sub(r"[\W_]", "", text.lower())


SETS = {"SINGLE": "single", "MULTI": "multi", "SCARCE-SINGLE": "scarce-single", "SCARCE-MULTI": "scarce-multi"}
METHODS: Sequence[Method] = ("spearman", "pearson", "kendall")
INTERVALS = "Intervals: 95% bootstrap over the 100 contexts (bias-corrected and expanded), 1,000 resamples."
Published = Mapping[str, tuple[float, ...]]  # row -> Spearman, Pearson, Kendall


def reference_set_figures(
    column: str, name: str, rows: Mapping[str, str], published: Published, about: str = ""
) -> list[Figure]:
    """The figures of one reference set: every row (a label and its spec) and every correlation."""
    data = read(f"dataset:gupta/{name}")
    specs = {row: str(parse(spec)) for row, spec in rows.items()}
    scores = score(data, list(specs.values()))
    columns = {row: scores[spec] for row, spec in specs.items()}
    rated = {rating.response: rating.value for rating in data.ratings}
    ratings = [rated[response] for response in scores.responses]
    systems = [scores.systems[code] for code in scores.system_codes]
    figures = []
    for place, method in enumerate(METHODS):
        found = correlation_intervals(
            columns, ratings, BootstrapPlan(method=method), systems=systems, items=scores.items
        )
        table = f"{method}, {about}" if about else method
        for row, interval in found.items():
            known = published[row][place] if row in published else None
            measured = interval.value, interval.low, interval.high, interval.n
            figures.append(Figure(table, row, column, known, *measured, scores.metrics[specs[row]]))
    return figures
