"""Our own COMET beside COMET-BART (Hwang et al. 2021): how close their tails are to those that people gave."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.data.knowledge import ATOMIC, normalise_persons
from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.paths import data_home
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Item, Pair, Reference, Response
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes

SUMMARY = "tails of our own COMET and of COMET-BART compared with people's, on prompts of ATOMIC-2020's test file"
FILE = "knowledge/atomic2020/comet_bart_generations.jsonl"
FIRST, BEST, HIT = (
    "ROUGE-L of the first tail",
    "ROUGE-L of the best of five tails",
    "One of five tails matches a person's",
)
OURS, THEIRS = "our COMET (135M)", "COMET-BART (406M)"
EACH = 25  # prompts per relation
TAILS_PER_PROMPT = 5
SEED = 1


class TailPrompt(NamedTuple):
    """An event and a relation, the tails that people gave, and those that COMET-BART wrote."""

    head: str
    relation: str
    gold: list[str]
    theirs: list[str]


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Generate our tails for a seeded sample of prompts; COMET-BART's are the published generations."""
    from rejoinder.models.comet.model import open_comet

    if metrics:
        raise InputError("reproduce comet compares tails, not metrics; leave out the parameter metrics")
    comet = open_comet()
    prompts_by_relation = {relation: list(_draw_prompts(relation)) for relation in ATOMIC}
    figures = []
    for relation, prompts in prompts_by_relation.items():
        ours = comet.tails([prompt.head for prompt in prompts], relation, TAILS_PER_PROMPT)
        for column, tails in ((OURS, ours), (THEIRS, [prompt.theirs for prompt in prompts])):
            figures += _relation_figures(
                relation, column, prompts, [[_normalise_tail(t) for t in of_prompt] for of_prompt in tails]
            )
    for table in (FIRST, BEST, HIT):
        for column in (OURS, THEIRS):
            mean = np.mean([f.measured for f in figures if (f.table, f.column) == (table, column)])
            figures.append(Figure(table, "macro average", column, None, float(mean)))
    notes = load_notes("own").paragraphs("comet", each=EACH, seed=SEED)
    return Reproduction("comet", "Our own COMET beside COMET-BART", figures, notes)


def _draw_prompts(relation: str) -> Iterator[TailPrompt]:
    path = data_home() / FILE
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise InputError(f"{path}: could not be read ({error.strerror}); see docs/datasets.md") from None
    known = []
    for line in lines:
        gold, theirs = (
            [t for t in map(_normalise_tail, line[key]) if t and t != "none"] for key in ("tails", "generations")
        )
        if line["relation"] == relation and gold and theirs:
            known.append(TailPrompt(normalise_persons(line["head"]), relation, gold, theirs[:TAILS_PER_PROMPT]))
    yield from random.Random(f"{SEED} {relation}").sample(known, min(EACH, len(known)))


def _normalise_tail(tail: str) -> str:
    return normalise_persons(tail).lower().strip().rstrip(".")


def _relation_figures(
    relation: str, column: str, prompts: Sequence[TailPrompt], tails: Sequence[Sequence[str]]
) -> list[Figure]:
    """The three figures of a relation; a prompt without a tail counts as 0."""
    metric = parse("rouge_l")
    pairs, rows = [], []
    for number, (prompt, of_prompt) in enumerate(zip(prompts, tails, strict=True)):
        item = Item(f"{relation}/{number}", (), tuple(Reference(gold) for gold in prompt.gold))
        pairs += [Pair(item, Response(f"{item.id}/{n}", item.id, column, tail)) for n, tail in enumerate(of_prompt)]
        rows += [(number, n) for n in range(len(of_prompt))]
    values = np.zeros((len(prompts), TAILS_PER_PROMPT))
    for (number, n), score in zip(rows, metric.score(pairs), strict=True):
        values[number, n] = score
    hits = [float(any(tail in prompt.gold for tail in texts)) for prompt, texts in zip(prompts, tails, strict=True)]
    figures = []
    for table, numbers in ((FIRST, values[:, 0]), (BEST, values.max(axis=1)), (HIT, np.array(hits))):
        interval = mean_interval(numbers, np.arange(len(numbers)).astype(str))
        figures.append(Figure(table, relation, column, None, interval.value, interval.low, interval.high, interval.n))
    return figures
