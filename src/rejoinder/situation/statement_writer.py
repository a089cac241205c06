"""More statements for seeds, written by a model (SUGAR, step 6): three per category, for people to check."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from rejoinder.data.inputs.seeds import Seed, check_statement_category
from rejoinder.data.questions import CATEGORIES
from rejoinder.models.statements.model import BEAM_WIDTH, StatementRequest, StatementWriter
from rejoinder.types import Statement

_WINDOW = 32  # seeds per batch


def add_statements(
    seeds: Sequence[Seed],
    writer: StatementWriter,
    categories: Sequence[str] = CATEGORIES,
    n: int = BEAM_WIDTH,
    beam: int = BEAM_WIDTH,
    progress: Callable[[int, int], None] | None = None,
) -> list[Seed]:
    """Return seeds with up to n more statements of each category; statements that they have are not repeated."""
    wanted = [check_statement_category(category, "categories") for category in dict.fromkeys(categories)]
    extended: list[Seed] = []
    for start in range(0, len(seeds), _WINDOW):
        part = seeds[start : start + _WINDOW]
        requests = [
            StatementRequest(seed.request, seed.goal, seed.reply, category) for seed in part for category in wanted
        ]
        outputs = writer.write(requests, n, beam)
        for place, seed in enumerate(part):
            texts = outputs[place * len(wanted) : (place + 1) * len(wanted)]
            extended.append(_add_to_seed(seed, wanted, texts))
        if progress is not None:
            progress(len(extended), len(seeds))
    return extended


def _add_to_seed(seed: Seed, categories: Sequence[str], outputs: Sequence[Sequence[str]]) -> Seed:
    known_texts = {" ".join(one.text.casefold().split()) for one in seed.statements}
    more: list[Statement] = []
    for category, texts in zip(categories, outputs, strict=True):
        for text in texts:
            if text.casefold() not in known_texts:
                known_texts.add(text.casefold())
                more.append(Statement(text, category, True))
    return dataclasses.replace(seed, statements=(*seed.statements, *more))
