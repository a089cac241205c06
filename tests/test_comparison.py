"""Which system is better: hand-made sets where the answer is known, and sets that allow none."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest

import rejoinder
from rejoinder.comparison.compare import compare
from rejoinder.errors import RunError
from rejoinder.scoring.result import Scores
from rejoinder.types import Item, Response, Turn


def as_quality(scores: Scores) -> Scores:
    """The same scores as if more of it were better, since a description such as a length ranks nobody."""
    facts = {spec: fact._replace(higher_is_better=True) for spec, fact in scores.facts.items()}
    return dataclasses.replace(scores, facts=facts)


def lengths(**by_system: list[int]) -> Scores:
    """A run in which each system answers the same items with replies of these lengths (0: no reply)."""
    n = max(map(len, by_system.values()))
    records: list[object] = [Item(f"i{i}", (Turn("Well?"),), dialogue=f"d{i // 2}") for i in range(n)]
    records += [
        Response(f"i{i}/{system}", f"i{i}", system, "word " * length)
        for system, of_system in by_system.items()
        for i, length in enumerate(of_system)
        if length
    ]
    return as_quality(rejoinder.score(rejoinder.data.collect(records), "length"))  # type: ignore[arg-type]


def test_a_clear_difference_survives_and_a_small_one_does_not() -> None:
    r = random.Random(1)
    base = [r.randint(5, 15) for _ in range(40)]
    scores = lengths(long=[b + r.randint(3, 6) for b in base], plain=base, other=[b + r.choice([-1, 1]) for b in base])
    found = compare(scores)[0]
    assert found.standings[0].system == "long"
    assert (found.standings[0].rank_low, found.standings[0].rank_high) == (1, 1)
    ahead = {(d.first, d.second): d for d in found.differences}
    assert ahead["long", "plain"].survives
    assert not next(d for d in found.differences if {d.first, d.second} == {"plain", "other"}).survives
    assert "long is best, surely ahead of" in found.sentence()
    # Paired: the difference is far surer than the two means, which overlap.
    assert ahead["long", "plain"].difference.low > 3


def test_a_rare_great_loss_makes_many_small_gains_unsure() -> None:
    # Eleven conversations gain 9 and one loses 30: 10 times test_a_skewed_paired_difference_by_hand.
    scores = lengths(often=[50] * 22 + [20] * 2, plain=[41] * 22 + [50] * 2)
    (found,) = compare(scores)[0].differences
    assert (found.first, found.difference.value) == ("often", pytest.approx(5.75))
    assert found.p == pytest.approx(0.461, abs=0.001)
    assert found.difference.low < -5  # swapping conversations alone ends at -0.75


def test_an_interval_of_compare_leaves_out_0_exactly_where_p_is_below_5_percent() -> None:
    r = random.Random(2)
    for n in (10, 24, 60):
        scores = lengths(
            **{f"s{k}": [r.randint(5, 9) + round(r.expovariate(1)) + k for _ in range(n)] for k in range(4)}
        )
        for one in compare(scores)[0].differences:
            assert (one.difference.low > 0 or one.difference.high < 0) == (one.p < 0.05)
            assert (one.reason is None) == (n > 10)


def test_a_description_ranks_no_system() -> None:
    scores = lengths(short=[3, 4, 5, 4] * 8, long=[9, 12, 11, 10] * 8, middle=[6, 7, 8, 7] * 8)
    facts = {"length": scores.facts["length"]._replace(higher_is_better=None)}
    described = dataclasses.replace(scores, facts=facts)
    found = compare(described)[0]
    assert [standing.system for standing in found.standings] == ["short", "long", "middle"]  # as in the run
    assert all(math.isnan(standing.rank) for standing in found.standings)
    assert "ranks" not in found.leaderboard().heads
    assert found.sentence() == "length: descriptive, so it ranks no system; 3 of 3 differences survive correction."
    assert [row[0] for row in described.table().rows] == ["short", "long", "middle"]
    assert [row[0] for row in scores.table().rows] == ["long", "middle", "short"]


def test_differences_are_paired_on_the_items_that_both_answered() -> None:
    scores = lengths(a=[5, 6, 7, 8, 9, 10], b=[4, 5, 6, 0, 0, 0])
    difference = compare(scores)[0].differences[0]
    assert difference.n == 3
    assert difference.difference.value == 1.0


def test_holm_corrects_over_all_pairs_of_systems() -> None:
    r = random.Random(2)
    scores = lengths(**{name: [r.randint(1, 20) for _ in range(30)] for name in "abcdef"})
    differences = compare(scores)[0].differences
    assert len(differences) == 15
    assert all(d.corrected >= d.p for d in differences)
    assert min(d.corrected for d in differences) == pytest.approx(min(1.0, 15 * min(d.p for d in differences)))


def test_one_system_has_nothing_to_be_compared_with() -> None:
    found = compare(lengths(a=[1, 2, 3]))[0]
    assert not found.differences
    assert "one system" in str(found.leaderboard())
    assert "nothing to compare" in found.sentence()


def test_systems_without_a_common_item_say_so() -> None:
    scores = lengths(a=[1, 2, 0, 0], b=[0, 0, 3, 4])
    difference = compare(scores)[0].differences[0]
    assert difference.reason == "no common items"
    assert math.isnan(difference.p)
    assert not difference.survives
    assert "no common items" in str(compare(scores)[0].matrix())


def test_constant_scores_differ_by_nothing() -> None:
    found = compare(lengths(a=[3] * 10, b=[3] * 10))[0]
    assert found.differences[0].difference.value == 0
    assert found.differences[0].p == 1
    assert "no difference" in found.sentence()


def test_lower_is_better_where_the_metric_says_so(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "errors_made.py"
    file.write_text(
        "from dataclasses import dataclass\nfrom rejoinder import Metric\n\n@dataclass(frozen=True)\n"
        "class ErrorsMade(Metric):\n    higher_is_better = False\n    range = (0.0, float('inf'))\n"
        "    def score(self, pairs):\n        return [float(len(p.response.text)) for p in pairs]\n"
    )
    records = [Item(f"i{i}", (Turn("?"),)) for i in range(12)]
    replies = [
        Response(f"{s}{i}", f"i{i}", s, "x" * (i + 1 + 5 * (s == "bad"))) for s in ("bad", "good") for i in range(12)
    ]
    found = compare(rejoinder.score(rejoinder.data.collect([*records, *replies]), str(file)))[0]
    assert found.standings[0].system == "good"
    assert "good is best" in found.sentence()


def test_a_metric_that_the_run_has_not_is_named() -> None:
    with pytest.raises(RunError, match="the run has no scores of bleu"):
        compare(lengths(a=[1, 2], b=[2, 3]), metrics=["bleu"])


def test_the_same_seed_gives_the_same_tables() -> None:
    r = random.Random(3)
    scores = lengths(a=[r.randint(1, 9) for _ in range(25)], b=[r.randint(1, 9) for _ in range(25)])
    first, second = compare(scores, seed=5)[0], compare(scores, seed=5)[0]
    assert str(first.leaderboard()) == str(second.leaderboard())
    assert str(first.matrix()) == str(second.matrix())
