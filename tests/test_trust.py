"""Which metric to believe: planted answers are found, trivial baselines exposed, thin evidence admitted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.comparison import trust as verdict
from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.comparison.shared_base_models import find_families, find_shared_families
from rejoinder.comparison.slices import SystemDifference
from rejoinder.comparison.trust import AgreementDifference, Trust, trust
from rejoinder.comparison.trust_tables import metric_agreement_table, trust_advice
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.stats.permutation import permutation_test
from rejoinder.table import Estimate
from rejoinder.types import Item, Rating, Response, Turn


def planted(
    noise: dict[str, float],
    items: int = 60,
    systems: int = 4,
    raters: int = 3,
    gap: float = 0.5,
    seed: int = 0,
    dialogues: Sequence[str | None] = (),
) -> tuple[Scores, Collection]:
    """Replies of known quality; each metric sees it through its own noise, each rater through theirs."""
    random = np.random.default_rng(seed)
    data = Collection()
    quality = []
    for i in range(items):
        data.add(Item(f"i{i}", (Turn("What now?"),), dialogue=dialogues[i] if dialogues else None))
        for s in range(systems):
            name = f"i{i}/s{s}"
            words = " ".join(["word"] * int(random.integers(3, 12)))
            data.add(Response(name, f"i{i}", f"s{s}", words))
            quality.append(random.normal() + gap * s)
            for r in range(raters):
                data.add(
                    Rating(f"r{r}", "apt", float(np.clip(round(3 + quality[-1] + random.normal() * 0.5), 1, 5)), name)
                )
    base = rejoinder.score(data, "length")
    values = {name: np.array(quality) + random.normal(size=len(quality)) * sd for name, sd in noise.items()}
    facts = {name: MetricFacts(name, (-9.0, 9.0), True, frozenset()) for name in noise}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    scores = Scores(facts, values, *where, base.dialogue_codes, base.clusters)
    return scores, data


def by_name(found: Trust) -> dict[str, dict[str, float]]:
    return {m.name: {level: i.value for level, i in m.levels.items()} for m in [*found.metrics, *found.baselines]}


def test_dialogues_are_resampled_whole() -> None:
    """Four copies of a reply in one dialogue say as much as one: the interval must not shrink with them."""
    scores, data = planted({"good": 1.0, "bad": 3.0}, systems=1)
    alone = trust(scores, data)
    copies, more = Collection(), {}
    for item in data.items.values():
        for k in range(4):
            copies.add(replace(item, id=f"{item.id}-{k}", dialogue=item.id))
    for one in data.responses.values():
        for k in range(4):
            copies.add(replace(one, id=f"{one.id}-{k}", item=f"{one.item}-{k}"))
    for rating in data.ratings:
        for k in range(4):
            copies.add(replace(rating, response=f"{rating.response}-{k}"))
    base = rejoinder.score(copies, "length")
    more = {name: np.repeat(values, 4) for name, values in scores.values.items()}
    where = base.responses, base.items, base.systems, base.system_codes, base.dialogues
    found = trust(Scores(scores.facts, more, *where, base.dialogue_codes, base.clusters), copies)
    one, four = (t.metrics[0].levels["pooled"] for t in (alone, found))
    assert four.value == pytest.approx(one.value, abs=1e-9)
    assert four.n_clusters == one.n_clusters == 60
    assert four.high - four.low == pytest.approx(one.high - one.low, rel=0.15)
    p = [t.differences["pooled"][0].p for t in (alone, found)]
    assert p[1] == pytest.approx(p[0], abs=0.03)
    shown = " ".join(str(metric_agreement_table(found)).split())
    assert "to 240 items of 60 dialogues, 3 raters; [low, high]: 95% bootstrap over whole dialogues." in shown
    assert "Pooled (bootstrap over dialogues, Holm over 1 pair, 0.05)" in shown


def test_the_permutation_test_swaps_whole_dialogues(monkeypatch) -> None:
    dialogues = [f"d{i // 5}" for i in range(40)]
    scores, data = planted({"good": 0.3, "bad": 5.0}, items=40, dialogues=dialogues)
    swapped = []

    def watched(*given, **named):
        swapped.append((named["swap"], len(set(named["dialogues"]))))
        return permutation_test(*given, **named)

    monkeypatch.setattr(verdict, "permutation_test", watched)
    found = trust(scores, data, test="permutation", resamples=200)
    assert set(swapped) == {("dialogues", 8)}
    # Of the 256 ways to swap eight dialogues few make so large a difference, but swapping all or none always does.
    assert 1 / 201 < found.differences["pooled"][0].p < 0.05


def test_dialogues_of_one_item_change_nothing() -> None:
    plain = trust(*planted({"good": 1.0, "bad": 3.0}), resamples=100)
    named = trust(*planted({"good": 1.0, "bad": 3.0}, dialogues=[f"d{i}" for i in range(60)]), resamples=100)
    assert str(metric_agreement_table(plain)) == str(metric_agreement_table(named))
    assert plain.metrics == named.metrics
    assert plain.differences == named.differences


def test_few_dialogues_are_not_to_be_trusted() -> None:
    scores, data = planted({"good": 0.3}, dialogues=[f"d{i // 3}" for i in range(60)])
    found = trust(scores, data, resamples=100)
    warning = "There are fewer than 30 dialogues: do not trust the intervals and tests, which need more."
    assert warning in metric_agreement_table(found).notes
    assert "With only 20 dialogues, this is not reliable" in trust_advice(found)
    enough = trust(*planted({"good": 0.3}, dialogues=[f"d{i // 2}" for i in range(60)]), resamples=100)
    assert "do not trust" not in str(metric_agreement_table(enough))
    assert "too few" not in trust_advice(enough)


def mixed() -> Collection:
    """Items with and without a dialogue whose numbers and names could be taken for each other's."""
    data = Collection()
    for i, dialogue in enumerate(["d0", None, "d0", None, "d1", None, "i1", "i1"]):
        data.add(Item(f"i{i}", (Turn("What now?"),), dialogue=dialogue))
        for system in "ab":
            data.add(Response(f"i{i}/{system}", f"i{i}", system, "word " * (i + 1)))
    return data


def test_items_without_a_dialogue_never_join_one(tmp_path: Path) -> None:
    data = mixed()
    file = tmp_path / "mixed.jsonl"
    rejoinder.write(data, file)
    fresh = rejoinder.run([file], rejoinder.Plan.of(["length"]), tmp_path / "run", cache=False)
    for scores in (rejoinder.score(data, "length"), fresh.scores, rejoinder.load(tmp_path / "run")):
        together: dict[int, set[str]] = {}
        for item, cluster in zip(scores.items, scores.clusters.tolist(), strict=True):
            together.setdefault(cluster, set()).add(item)
        assert sorted(map(sorted, together.values())) == [["i0", "i2"], ["i1"], ["i3"], ["i4"], ["i5"], ["i6", "i7"]]


@pytest.mark.parametrize("seed", [0, 1])
def test_metrics_with_planted_noise_are_ranked_in_the_planted_order(seed: int) -> None:
    scores, data = planted({"worst": 4.0, "best": 0.3, "middle": 1.2}, items=150, seed=seed)
    found = trust(scores, data)
    shown = [row[0] for row in metric_agreement_table(found).rows][:3]
    assert shown == ["best", "middle", "worst"]
    better = {(d.first, d.second) for d in found.differences["within_system"] if d.survives}
    assert better == {("best", "middle"), ("best", "worst"), ("middle", "worst")}
    assert "best agrees best with people within systems" in trust_advice(found)


def test_no_winner_is_called_where_no_test_finds_one() -> None:
    found = trust(*planted({"one": 0.3, "two": 0.31}, items=40), resamples=200)
    said = trust_advice(found)
    assert "agrees best" not in said
    assert "no test finds it better than" in said
    alone = trust(*planted({"one": 0.3}, items=40), resamples=200)
    assert "one agrees with people within systems" in trust_advice(alone)


def test_a_description_is_never_recommended_however_well_it_agrees() -> None:
    scores, data = planted({"good": 0.9, "size": 0.01}, items=60)
    facts = {spec: f._replace(higher_is_better=None if spec == "size" else True) for spec, f in scores.facts.items()}
    found = trust(dataclasses.replace(scores, facts=facts), data, resamples=200)
    names = [str(row[0]) for row in metric_agreement_table(found).rows]
    assert names.index("good") < names.index("descriptive: size")
    assert trust_advice(found).startswith("On 'apt', good agrees with people") or "No metric" in trust_advice(found)
    only = {"size": facts["size"]}
    described = dataclasses.replace(scores, facts=only, values={"size": scores["size"]})
    assert "only describe replies" in trust_advice(trust(described, data, resamples=200))


def test_only_what_survives_correction_is_called_better() -> None:
    assert not AgreementDifference("a", "b", 0.1, p=0.03, corrected=0.06).survives
    assert AgreementDifference("a", "b", 0.1, p=0.03, corrected=0.04).survives
    estimate = Estimate(0.1, 0.01, 0.2)
    assert not SystemDifference("a", "b", estimate, p=0.03, corrected=0.06, n=9, reason=None).survives
    assert SystemDifference("a", "b", estimate, p=0.03, corrected=0.04, n=9, reason=None).survives


def test_a_metric_where_less_is_better_is_turned() -> None:
    scores, data = planted({"error": 1.0, "same": 1.0}, items=30)
    scores.values["error"][:] = -scores.values["same"]  # type: ignore[index]
    scores.facts["error"] = scores.facts["error"]._replace(higher_is_better=False)  # type: ignore[index]
    found = trust(scores, data, resamples=100)
    error, same = found.metrics
    assert error.levels == same.levels
    assert error.levels["pooled"].value > 0.3
    assert error.accuracy == same.accuracy
    assert found.evidence.lower_is_better == {"error"}


def test_the_permutation_test_agrees_on_a_clear_case() -> None:
    scores, data = planted({"good": 0.3, "bad": 5.0}, items=40)
    found = trust(scores, data, test="permutation", resamples=200)
    assert [(d.first, d.second, d.survives) for d in found.differences["pooled"]] == [("good", "bad", True)]


def test_a_metric_that_knows_only_the_system_is_exposed() -> None:
    scores, data = planted({"noise": 0.0}, gap=2.0)
    knows_system = scores.system_codes + np.random.default_rng(0).normal(size=len(scores)) * 0.01
    scores.values["noise"][:] = knows_system  # type: ignore[index]
    found = trust(scores, data)
    value = by_name(found)
    assert value["noise"]["pooled"] > 0.7
    assert abs(value["noise"]["within_system"]) < 0.15
    assert value[ORACLE]["pooled"] > 0.7
    assert "No metric of this run can be trusted" in trust_advice(found)


def test_the_oracle_reaches_57_on_guptas_replies(published: Path) -> None:
    data = rejoinder.read("dataset:gupta/multi")
    scores = rejoinder.score(data, ["bleu", "rouge_l"])
    found = trust(scores, data, resamples=200)
    value = by_name(found)
    assert value[ORACLE]["pooled"] == pytest.approx(0.57, abs=0.005)  # measured beforehand, by a simple script
    assert math.isnan(value[ORACLE]["within_system"])
    for metric in ("bleu", "rouge_l"):
        assert not math.isnan(value[metric]["within_system"])
    assert "system's name alone gives (0.57)" in trust_advice(found)


def degenerate(ratings: list[Rating], texts: dict[str, str] | None = None) -> Trust:
    """A tiny run with these ratings; two items, systems a and b, unless other texts are given."""
    texts = texts or {"i0/a": "one two", "i0/b": "one", "i1/a": "one two three", "i1/b": "four five six seven"}
    data = Collection()
    for item in dict.fromkeys(name.split("/")[0] for name in texts):
        data.add(Item(item, (Turn("Yes or no?"),)))
    for name, text in texts.items():
        data.add(Response(name, name.split("/")[0], name.split("/")[1], text))
    for rating in ratings:
        data.add(rating)
    return trust(rejoinder.score(data, ["length", "distinct(n=1)"]), data, resamples=100)


def one_each(values: list[float], rater: str = "r") -> list[Rating]:
    return [Rating(rater, "apt", v, n) for n, v in zip(["i0/a", "i0/b", "i1/a", "i1/b"], values, strict=False)]


CASES = {
    "one rating an item": one_each([1, 2, 3, 4]),
    "constant ratings": one_each([3, 3, 3, 3]),
    "two ratings in all": one_each([1, 2]),
    "one rating in all": one_each([1]),
    "a rater who rated one item": [*one_each([1, 2, 3, 4]), Rating("late", "apt", 5, "i0/a")],
    "raters who share nothing": [*one_each([1, 2], "r"), Rating("q", "apt", 2, "i1/a"), Rating("q", "apt", 4, "i1/b")],
}


@pytest.mark.parametrize("case", CASES)
def test_thin_evidence_gives_a_value_or_a_reason_and_no_warning(case: str) -> None:
    found = degenerate(CASES[case])
    shown = str(metric_agreement_table(found))
    assert "nan" not in shown
    assert trust_advice(found).endswith(".")
    for one in found.metrics:
        for interval in one.levels.values():
            assert not math.isnan(interval.value) or interval.reason


def test_constant_ratings_put_no_pair_in_order() -> None:
    shown = metric_agreement_table(degenerate(CASES["constant ratings"]))
    assert shown.text(shown.rows[0][-1]) == "–"
    assert any("No value for pairs right: all ratings that are compared are the same (" in note for note in shown.notes)


def test_the_mean_of_the_halves_stands_without_an_interval() -> None:
    """Nearly all splits of clear ratings rank the systems alike, so their mean lies outside the middle 95% of them."""
    found = trust(*planted({"a": 1.0}, systems=6, gap=0.35, seed=3), resamples=100)
    found = replace(found, halves=found.halves._replace(value=0.9991, low=1.0, high=1.0, reason=None))
    table = metric_agreement_table(found)
    row = next(row for row in table.rows if "half of the ratings" in str(row[0]))
    assert table.text(row[5]) == "0.999"
    told = "mean of 200 random splits, the middle 95% of which lie between 1.000 and 1.000."
    assert f"Half of the ratings against the other half: {told}" in table.notes


def test_one_system_and_constant_scores_are_told() -> None:
    texts = {f"i{i}/a": "same words" for i in range(5)}
    ratings = [Rating("r", "apt", float(i % 3 + 1), f"i{i}/a") for i in range(5)]
    found = degenerate(ratings, texts)
    assert "No value for pooled" in str(metric_agreement_table(found))
    assert "can be judged" in trust_advice(found) or "can be trusted" in trust_advice(found)


def test_an_aspect_must_be_one_that_was_rated() -> None:
    scores, data = planted({"a": 1.0}, items=3)
    with pytest.raises(InputError, match="nobody rated responses in the aspect 'atp'; did you mean 'apt'"):
        trust(scores, data, "atp")
    data.ratings.append(Rating("r0", "fluent", 3, "i0/s0"))
    with pytest.raises(InputError, match=r"several aspects \(apt, fluent\)"):
        trust(scores, data)
    data.ratings.clear()
    with pytest.raises(InputError, match="no ratings of responses"):
        trust(scores, data)


def test_the_ceiling_is_what_one_rater_reaches_against_the_rest() -> None:
    scores, data = planted({"length": 1.0}, raters=3)
    found = trust(scores, data, resamples=100)
    assert 0.5 < found.one_rater.value < 1
    assert found.halves.value > 0.8
    assert 0.4 < found.agreement.value < 1


def test_a_metric_and_a_system_of_one_family_are_named() -> None:
    assert find_families("microsoft/DialoGPT-large") == {"gpt2"}
    assert find_families("hf:gpt2-medium") == {"gpt2"}
    assert find_families("roberta-large") == {"roberta"}
    assert find_families("albert einstein") == set()
    signatures = {"norm_prob(model='gpt2')": "norm_prob|model:gpt2|version:1", "bleu": "bleu|n:4"}
    assert find_shared_families(signatures, ["DialoGPT", "human"]) == [("norm_prob(model='gpt2')", "DialoGPT", "gpt2")]


def test_the_same_seed_gives_the_same_table() -> None:
    scores, data = planted({"length": 1.0}, items=20)
    assert str(metric_agreement_table(trust(scores, data))) == str(metric_agreement_table(trust(scores, data)))
