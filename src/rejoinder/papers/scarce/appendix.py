"""Appendix A of SCARCE: how diverse references are (self-BLEU), and how good (there by RUBER, here by aptness)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rejoinder.data.collection import Collection
from rejoinder.metric import parse
from rejoinder.papers.base import Figure
from rejoinder.papers.scarce import published
from rejoinder.papers.scarce.measures import CASES
from rejoinder.papers.scarce.sets import References
from rejoinder.scoring.api import score
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Item, Response

DRAWN = 4  # references an item (Appendix A.3)
DRAWS = 20  # by so many seeds, the mean of which is the figure
DIVERSITY = f"Appendix A.3: self-BLEU-4 of {DRAWN} references drawn at random (lower is more diverse)"
QUALITY = "Appendix A.2: quality of references (there RUBER, here aptness)"
_SELF_BLEU = "self_bleu(n=4, over='references', smoothing='epsilon', tokenizer='whitespace', lowercase={lower})"
_SMOOTHED = "self_bleu(n=4, over='references')"
_QUALITY = "aptness"


def diversity_figures(items: Mapping[str, Item], sets: Mapping[str, References]) -> Iterator[Figure]:
    """The mean self-BLEU of references drawn from each set; items with fewer are left out."""
    typed = {case: _SELF_BLEU.format(lower=bool(n)) for n, case in enumerate(CASES)}
    typed["smoothed as sacrebleu does, lower-cased"] = _SMOOTHED
    columns = {column: str(parse(spec)) for column, spec in typed.items()}
    for row, references in sets.items():
        drawn = Collection()
        for name, item in items.items():
            if len(references[name]) >= DRAWN:
                for draw in range(DRAWS):
                    few = tuple(random.Random(f"{draw} {name}").sample(references[name], DRAWN))
                    one = replace(item, id=f"{name} {draw}", references=few)
                    drawn.add(one)
                    drawn.add(Response(one.id, one.id, row, "."))
        if drawn.items:
            scores = score(drawn, list(columns.values()))
            clusters = [name.rpartition(" ")[0] for name in scores.items]
            for column, spec in columns.items():
                found = mean_interval(scores[spec], clusters)
                there = published.SELF_BLEU.get(row) if column == CASES[0] else None
                yield Figure(DIVERSITY, row, column, there, found.value, found.low, found.high, found.n_clusters, spec)


def quality_figures(items: Mapping[str, Item], sets: Mapping[str, References]) -> Iterator[Figure]:
    """The mean aptness of the references of each set, as if they were replies."""
    for row, references in sets.items():
        replies = [(name, one) for name in items for one in references[name]]
        if not replies:
            continue
        judged = Collection(items=dict(items))
        for number, (name, one) in enumerate(replies):
            judged.add(Response(str(number), name, row, one.text))
        scores = score(judged, _QUALITY)
        found = mean_interval(scores[_QUALITY], [name for name, _ in replies])
        there = published.QUALITY.get(row)
        yield Figure(QUALITY, row, "aptness", there, found.value, found.low, found.high, found.n)
