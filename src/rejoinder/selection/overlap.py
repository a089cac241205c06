"""The share of a test set's false candidates that have a content word in common with the true reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rejoinder.data.questions import find_right_candidates
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.text.similarity import shares_content
from rejoinder.types import Question


@dataclass(frozen=True)
class ContentOverlap:
    """The share of false candidates with a content word of the true reply: over all, and where the reply has any.

    Over all, a true reply without content words ("Yes, I will.") counts as no overlap. Intervals are clustered by
    question.
    """

    all: Interval
    where_possible: Interval
    by_source: Mapping[str, float] = field(hash=False)
    truths_without: int = 0


def measure_overlap(questions: Sequence[Question]) -> ContentOverlap:
    """Measure how many false candidates share content words with the true reply."""
    values, clusters, sources = [], [], []
    without = 0
    for question in questions:
        places = find_right_candidates(question)
        truth = question.candidates[min(places)].text
        shared = [
            (one, shares_content(truth, one.text)) for n, one in enumerate(question.candidates) if n not in places
        ]
        without += any(value is None for _, value in shared)
        for one, value in shared:
            values.append(math.nan if value is None else float(value))
            clusters.append(question.id)
            sources.append(one.source or "unknown")
    everywhere = [0.0 if math.isnan(value) else value for value in values]
    by_source = {
        name: sum(v for v, s in zip(everywhere, sources, strict=True) if s == name) / sources.count(name)
        for name in sorted(set(sources))
    }
    return ContentOverlap(mean_interval(everywhere, clusters), mean_interval(values, clusters), by_source, without)
