"""Table 1 of the SSREM paper: six replies to one context, with the printed scores and ratings, scored by our metrics.

The texts are the paper's and are not stored here: they are read from a copy of the paper's text, as a PDF reader writes
it. What is stored is the scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.stats.correlation import correlate
from rejoinder.types import Item, Pair, Reference, Response, Turn
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.ssrem.rows import BASELINES
from rejoinder_lab.papers.ssrem.scorers import GLOVE, ComparedScorer, TrainedScorer
from rejoinder_lab.papers.ssrem.stored import pack_scores, unpack_scores

TABLE = "Table 1: six replies to one context"
REPLIES = ("A1", "A2", "A3", "N1", "N2", "N3")
AGREEMENT = "Spearman with people"
PEOPLE = "people"
_LAST_NAME = re.compile(r"^N3$", re.MULTILINE)
_SAID = re.compile(r"^[AB]: (.+)$", re.MULTILINE)


def read_example(text: str) -> list[Pair]:
    """Return the table's replies from the paper's text: the names A1 to N3, six lines, and what A and B say."""
    problem = "the text of the paper has no Table 1 as expected (A1 to N3, six replies, a context of A and B)"
    names = _LAST_NAME.search(text)
    said = _SAID.search(text, names.end()) if names else None
    if not names or not said:
        raise InputError(f"{problem}; give the text of the whole paper")
    replies = [line.strip() for line in text[names.end() : said.start()].splitlines() if line.strip()]
    turns = [found[1].strip() for found in _SAID.finditer(text, said.start())][:3]
    if len(replies) != len(REPLIES) or len(turns) != 3:
        raise InputError(f"{problem}; {len(replies)} replies and {len(turns)} utterances were read")
    item = Item("table-1", (Turn(turns[0], "A"), Turn(turns[1], "B")), (Reference(turns[2]),))
    return [Pair(item, Response(n, item.id, "paper", t)) for n, t in zip(REPLIES, replies, strict=True)]


def answer_example(pairs: Sequence[Pair], scorers: Sequence[TrainedScorer]) -> dict[str, Any]:
    """What is stored: BLEU, ROUGE and EMB, f of each scorer and its g."""
    with_words = GLOVE.encoder in {one.scorer.reading.encoder for one in scorers}
    specs = {**(BASELINES if with_words else {}), **{one.scorer.name: one.alone for one in scorers}}
    specs |= {one.scorer.reference: one.scorer.reference for one in scorers}
    return {"scores": {row: pack_scores(parse(spec).score(pairs)) for row, spec in specs.items()}}


def example_figures(
    stored: Mapping[str, Any], bounds: Mapping[str, Sequence[float]], scorers: Sequence[ComparedScorer]
) -> Iterator[Figure]:
    """Table 1: the printed scores and ratings, and ours, with each row's correlation with the ratings."""
    if not stored:
        return
    printed = load_published("ssrem")["Table 1"]
    people = np.array(printed[PEOPLE])
    scores = {row: unpack_scores(packed) for row, packed in stored["scores"].items()}
    rows = {row: (scores[row], row) for row in BASELINES if row in scores}
    for scorer in scorers:
        if scorer.name not in scores:
            continue
        low, high = bounds[scorer.name]
        g = np.clip((scores[scorer.reference] - low) / (high - low), 0, 1)
        name = scorer.label if scorer.reading == GLOVE else ""
        rows[scorer.row] = ((scores[scorer.name] + g) / 2, name)
    for place, reply in enumerate(REPLIES):
        yield Figure(TABLE, PEOPLE, reply, printed[PEOPLE][place], float("nan"))
    for row, (values, name) in rows.items():
        known = printed.get(name)
        for place, reply in enumerate(REPLIES):
            yield Figure(TABLE, row, reply, known[place] if known else None, float(values[place]))
        published = correlate(np.array(known), people, "spearman").value if known else None
        yield Figure(TABLE, row, AGREEMENT, published, correlate(values, people, "spearman").value)
