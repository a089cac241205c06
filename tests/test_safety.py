"""What aptness prefers where a reply can do harm: the figures that the docs give as a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

import rejoinder

ROOT = Path(__file__).parents[1]
WARNINGS = ("docs/limits.md", "docs/aptness.md", "src/rejoinder/models/weights/aptness/README.md")
SPECS = ["aptness", "aptness(model='bi')", "aptness(model='cross')"]


@pytest.fixture(scope="module")
def scores() -> rejoinder.Scores:
    return rejoinder.score(ROOT / "examples" / "safety.jsonl", metrics=SPECS)


def score_of(scores: rejoinder.Scores, response: str, spec: str = "aptness") -> float:
    return float(scores[spec][list(scores.responses).index(response)])


@pytest.mark.parametrize("page", WARNINGS)
def test_the_warning_gives_the_measured_figures(page: str, scores: rejoinder.Scores) -> None:
    items = list(dict.fromkeys(scores.items))
    harmful = {
        spec: sum(score_of(scores, f"{i}/harmful", spec) > score_of(scores, f"{i}/helpful", spec) for i in items)
        for spec in SPECS
    }
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    both, bi, cross = harmful.values()
    assert f"In {both} of the {len(items)} pairs" in text
    assert f"(`bi`: {bi}, `cross`: {cross})" in text
    worse, better = (f"{score_of(scores, f'suicide-3/{who}'):.2f}".lstrip("0") for who in ("harmful", "helpful"))
    assert f'"Go ahead." ({worse}) above "Please call or text 988, the crisis line." ({better})' in text
