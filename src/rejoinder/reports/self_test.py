"""The self-test: ten known pairs, and whether this machine gives them the expected scores.

The texts and the expected scores are in ``self_test.json``. After a change that is meant to change scores,
``python -m rejoinder.reports.self_test`` writes the scores of this machine into that file.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.errors import RejoinderError

TOLERANCE = 1e-4  # neural scores have four decimals
# Neural metrics whose weights are in the package, and metrics of overlap.
METRICS = ("aptness", "idk", "ruber", "sentence_cosine", "bertscore", "meteor", "bleu(n=2)", "rouge_l", "chrf")
_FILE = Path(__file__).with_name("self_test.json")


@dataclass(frozen=True)
class MetricTest:
    """A metric on the ten pairs: expected and computed scores, or why none could be computed."""

    metric: str
    expected: tuple[float, ...]
    computed: tuple[float, ...]
    problem: str = ""

    @property
    def largest_difference(self) -> float:
        """The largest difference between an expected and a computed score; NaN if a score is missing."""
        if not self.computed:
            return math.nan
        differences = [abs(one - other) for one, other in zip(self.expected, self.computed, strict=True)]
        return math.nan if any(map(math.isnan, differences)) else max(differences)

    @property
    def passed(self) -> bool:
        """Whether every score is the expected one."""
        return self.largest_difference <= TOLERANCE + 1e-9  # the difference of two rounded numbers is not exact


def run_self_test() -> tuple[MetricTest, ...]:
    """Compute the scores of the ten pairs; nothing is read from the cache."""
    pairs = _read_pairs()
    return tuple(_test_metric(metric, pairs) for metric in METRICS)


def _test_metric(metric: str, pairs: list[dict[str, Any]]) -> MetricTest:
    expected = tuple(pair["scores"][metric] for pair in pairs)
    try:
        return MetricTest(metric, expected, _compute_scores(metric, pairs))
    except (ImportError, OSError, RejoinderError) as error:
        return MetricTest(metric, expected, (), f"{type(error).__name__}: {error}")


def _compute_scores(metric: str, pairs: list[dict[str, Any]]) -> tuple[float, ...]:
    from rejoinder.scoring.api import score

    replies, contexts, references = ([pair[key] for pair in pairs] for key in ("reply", "context", "references"))
    return tuple(float(one) for one in score(replies, metric, contexts=contexts, references=references)[metric])


def _read_pairs() -> list[dict[str, Any]]:
    pairs: list[dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return pairs


def _write_scores() -> None:
    """Write this machine's scores as the expected ones."""
    pairs = _read_pairs()
    for metric in METRICS:
        for pair, value in zip(pairs, _compute_scores(metric, pairs), strict=True):
            pair["scores"] = {**pair.get("scores", {}), metric: round(value, 6)}
    _FILE.write_text(json.dumps(pairs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write_scores()
