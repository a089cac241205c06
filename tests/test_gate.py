"""The gate: it passes, fails with a readable reason, or says what was asked wrongly."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

import rejoinder
from benchmarks.gate_simulation import MARGIN, GateCase, make_scores, run_gate, simulate
from rejoinder.cli import program
from rejoinder.comparison.check import check, parse_condition
from rejoinder.comparison.non_inferiority import count_conversations_needed
from rejoinder.comparison.worse_replies import find_worse_replies
from rejoinder.data.collection import collect
from rejoinder.errors import RunError, SpecError
from rejoinder.reports.check import format_check_markdown, format_junit
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder
from rejoinder.types import Item, Reference, Response, Turn


def replies(shift: int = 0, n: int = 30, seed: int = 0) -> Scores:
    """Replies that share some words with their reference; the shift takes words away."""
    r = random.Random(seed)
    words = [f"w{i}" for i in range(20)]
    references = [r.sample(words, 12) for _ in range(n)]
    texts = [" ".join(ref[: r.randint(5, 9) - shift] + ["x"] * (3 + shift)) for ref in references]
    return rejoinder.score(texts, references=[" ".join(ref) for ref in references], metrics=["rouge_l", "length"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bleu>=0.1", ("bleu", None, ">=", 0.1)),
        ("bleu(n=2) @ my bot < 3", ("bleu(n=2)", "my bot", "<", 3.0)),
        ("length<=-1e3", ("length", None, "<=", -1000.0)),
    ],
)
def test_a_condition_is_read_as_typed(text: str, expected: tuple[object, ...]) -> None:
    assert tuple(parse_condition(text)) == expected


@pytest.mark.parametrize("text", ["bleu", "bleu>=", ">=3", "bleu>=three", "bleu>=nan", "bleu>=1>=2"])
def test_a_condition_that_says_nothing_is_an_error(text: str) -> None:
    with pytest.raises(SpecError):
        parse_condition(text)


def test_a_threshold_passes_or_fails_with_the_figure() -> None:
    scores = replies()
    good, bad = check(scores, ["rouge_l>=0.3", "rouge_l@system>0.99"])
    assert good.passed
    assert not bad.passed
    assert "rouge_l of system is 0." in bad.reason
    assert "required > 0.99" in bad.reason


def test_an_unknown_metric_or_system_is_named() -> None:
    with pytest.raises(RunError, match="no scores of bleu"):
        check(replies(), ["bleu>=0"])
    with pytest.raises(RunError, match="did you mean 'system'"):
        check(replies(), ["rouge_l@systm>=0"])
    with pytest.raises(SpecError, match="nothing to check"):
        check(replies(), [])


def test_a_metric_without_scores_does_not_pass() -> None:
    scores = rejoinder.score(["a b c"], metrics=["rouge_l"])
    finding = check(scores, ["rouge_l>=0"])[0]
    assert not finding.passed
    assert "has no scores" in finding.reason


def test_a_run_that_is_surely_worse_fails_and_a_margin_forgives() -> None:
    old, new = replies(), replies(shift=3)
    worse = check(new, [], old)
    assert [f.passed for f in worse] == [False]  # length has no direction and is not held against anybody
    assert "surely worse" in worse[0].reason
    assert check(old, [], new)[0].passed
    assert check(new, [], old, margin=0.9)[0].passed
    assert "(margin 0.05, 5% of the range): surely worse, and by more than the margin" in worse[0].reason


def test_the_same_run_is_not_worse_than_itself() -> None:
    assert all(f.passed for f in check(replies(), [], replies()))


def test_runs_with_nothing_in_common_cannot_be_compared() -> None:
    with pytest.raises(RunError, match="no item in common, neither by id nor by context"):
        check(replies(), [], rejoinder.score(["a"], metrics=["length"]))
    other = rejoinder.score([f"a {i}" for i in range(30)], metrics=["length"])
    with pytest.raises(RunError, match="no metric with a direction in common"):
        check(replies(), [], other)


# ---- no worse than an older run


def run_of(
    values: list[float],
    texts: list[str] | None = None,
    system: str = "bot",
    spec: str = "apt",
    bounds: tuple[float, float] = (0.0, 1.0),
    better: bool | None = True,
    context: str = "How is {i}?",
    items: list[str] | None = None,
    size: int = 1,
    references: tuple[str, ...] = (),
    needs: frozenset[str] = frozenset(),
) -> Scores:
    """A run with one reply per item and these scores; ``size`` items make a conversation."""
    builder, records = ScoresBuilder(), []
    names = items or [f"i{i}" for i in range(len(values))]
    for i, name in enumerate(names):
        good = tuple(Reference(text) for text in references)
        records.append(Item(name, (Turn(context.format(i=name)),), good, dialogue=f"d{i // size}"))
        records.append(Response(f"{name}/{system}", name, system, texts[i] if texts else f"It is {values[i]}."))
        builder.add(f"{name}/{system}", name, system, f"d{i // size}")
    facts = {spec: MetricFacts(spec, bounds, better, needs)}
    return builder.build(facts, {spec: np.array(values)}, {}, {}, data=collect(records))


def noise(n: int, drop: float = 0.0, spread: float = 0.1, seed: int = 1) -> list[float]:
    random = np.random.default_rng(seed)
    drawn = spread * random.normal(size=n)
    return (0.8 - drop + drawn - drawn.mean()).tolist()


OLD = run_of([0.8] * 200)


def outcome(new: Scores, old: Scores = OLD, **options: object) -> str:
    (result,) = check(new, older=old, **options)  # type: ignore[arg-type]
    return result.outcome


def test_three_outcomes_by_where_the_interval_lies() -> None:
    assert outcome(run_of(noise(200))) == "pass"
    assert outcome(run_of(noise(200, drop=0.02))) == "pass"  # surely worse, but by less than the margin
    assert outcome(run_of(noise(200, drop=0.05))) == "fail"
    assert outcome(run_of(noise(200, drop=0.1))) == "fail"
    assert outcome(run_of(noise(200, spread=0.6))) == "inconclusive"
    assert outcome(run_of(noise(200, drop=-0.3))) == "pass"


def test_an_inconclusive_check_does_not_pass_unless_that_is_allowed() -> None:
    wide = run_of(noise(200, spread=0.6))
    (strict,) = check(wide, older=OLD)
    (lax,) = check(wide, older=OLD, allow_inconclusive=True)
    assert (strict.passed, lax.passed, lax.outcome) == (False, True, "inconclusive")
    assert re.search(
        r"too few conversations to tell \(200; about [\d,]+ are enough if nothing got worse\)", strict.reason
    )
    (worse,) = check(run_of(noise(200, drop=0.1)), older=OLD, allow_inconclusive=True)
    assert not worse.passed


def test_a_margin_is_a_number_or_a_share_of_the_range_for_all_metrics_or_one() -> None:
    slightly = run_of(noise(200, drop=0.04))
    assert outcome(slightly, margin=0.01) == "fail"
    assert outcome(slightly, margin=0.2) == "pass"
    assert outcome(slightly, margin="20%") == "pass"
    assert outcome(slightly, margin=["1%", "apt=20%"]) == "pass"
    assert outcome(slightly, margin={"apt": 0.2}) == "pass"
    assert check(slightly, older=OLD)[0].margin == pytest.approx(0.05)
    for margin, message in (
        ("much", "'much' is not a margin"),
        (-0.1, "not negative"),
        (math.nan, "is not a margin"),
        ({"bleu": 0.1}, "'bleu', which is not checked; checked: apt"),
    ):
        with pytest.raises(SpecError, match=message):
            check(slightly, older=OLD, margin=margin)  # type: ignore[arg-type]


def test_a_metric_without_a_finite_range_needs_a_margin() -> None:
    old = run_of([0.8] * 200, bounds=(0.0, math.inf))
    new = run_of(noise(200), bounds=(0.0, math.inf))
    with pytest.raises(RunError, match=r"apt has no finite range.*--margin 'apt=NUMBER'"):
        check(new, older=old)
    assert outcome(new, old, margin=0.1) == "pass"


def test_less_is_better_where_the_metric_says_so() -> None:
    old = run_of([0.2] * 200, better=False)
    assert outcome(run_of([1 - value for value in noise(200, drop=0.1)], better=False), old) == "fail"
    assert outcome(run_of([1 - value for value in noise(200, drop=-0.1)], better=False), old) == "pass"


def test_rare_failures_that_few_conversations_could_miss_do_not_pass() -> None:
    few_old, few_new = run_of([0.9] * 40), run_of([0.9] * 40, [f"Another {i}." for i in range(40)])
    (result,) = check(few_new, older=few_old)
    assert result.outcome == "inconclusive"
    assert "40 conversations cannot rule out rare failures; 65 can" in result.reason
    assert 0.95 ** count_conversations_needed(0.05, 1.0) <= 0.025 < 0.95 ** (count_conversations_needed(0.05, 1.0) - 1)
    assert outcome(run_of([0.9] * 65, [f"Another {i}." for i in range(65)]), run_of([0.9] * 65)) == "pass"
    assert outcome(run_of([0.95] * 40), few_old) == "pass"  # surely better
    assert outcome(run_of([0.9] * 40), few_old) == "pass"  # not one reply changed
    few = run_of([0.9] * 100 + [0.0] * 4, [f"Another {i}." for i in range(104)])
    assert outcome(few, run_of([0.9] * 104)) != "pass"


def test_rare_failures_on_top_of_a_drop_need_more_conversations() -> None:
    old, texts = run_of([0.9] * 80), [f"Another {i}." for i in range(80)]
    assert outcome(run_of([0.9 - 0.003] * 80, texts), old) == "pass"
    (result,) = check(run_of([0.9 - 0.025 + 0.001 * (i % 2) for i in range(80)], texts), older=old)
    assert result.outcome == "inconclusive"
    needed = count_conversations_needed(0.05, 0.9, 0.0245)
    assert f"80 conversations cannot rule out rare failures on top of this drop; {needed} can" in result.reason
    share = (0.05 - 0.0245) / (0.9 - 0.0245)  # of failures that make up the rest of the margin
    assert (1 - share) ** needed <= 0.025 < (1 - share) ** (needed - 1)
    enough = [0.9 - 0.025 + 0.001 * (i % 2) for i in range(needed + 1)]
    more = [f"Another {i}." for i in range(needed + 1)]
    assert outcome(run_of(enough, more), run_of([0.9] * (needed + 1))) == "pass"


def test_conversations_count_and_not_replies() -> None:
    values = np.repeat(noise(25, spread=0.15), 8).tolist()
    assert outcome(run_of(values), OLD) == "pass"
    assert outcome(run_of(values, size=8), run_of([0.8] * 200, size=8)) == "inconclusive"


def test_unanswered_items_fail_below_the_least_coverage() -> None:
    better = noise(200, drop=-0.1)
    assert outcome(run_of(better[:190])) == "pass"
    (result,) = check(run_of(better[:189]), older=OLD)
    assert result.outcome == "fail"
    assert "189 of 200 items of the old run have a score now (94.5%), required 95%" in result.reason
    assert outcome(run_of(better[:100]), min_coverage=0.5) == "pass"
    assert outcome(run_of([*better[:150], *[math.nan] * 50])) == "fail"  # answered, but without a score
    with pytest.raises(SpecError, match="a share from 0 to 1"):
        check(run_of(better), older=OLD, min_coverage=95)


def test_a_changed_context_or_reference_is_refused() -> None:
    with pytest.raises(RunError, match=r"the context of 200 of 200 items changed under the same id \(first: 'i0'\)"):
        check(run_of(noise(200), context="Where is {i}?"), older=OLD)
    needs = frozenset({"references"})
    old, new = (run_of(noise(200), references=(text,), needs=needs) for text in ("Yes.", "No."))
    with pytest.raises(RunError, match="the references of 200 of 200 items changed"):
        check(new, older=old)
    free = [run_of(noise(200), references=(text,)) for text in ("Yes.", "No.")]
    assert outcome(free[1], free[0]) == "pass"


def test_items_with_other_ids_are_paired_by_their_contexts() -> None:
    old = run_of([0.8] * 200, context="A question", items=[f"old-{i}" for i in range(200)])
    new = run_of(noise(200), context="A  question ", items=[f"new-{i}" for i in range(200)])
    (result,) = check(new, older=old)
    assert result.outcome == "pass"
    assert "on 200 items paired by context" in result.reason


def test_the_only_system_of_each_run_is_compared_whatever_it_is_called() -> None:
    (result,) = check(run_of(noise(200), system="v2"), older=run_of([0.8] * 200, system="v1"))
    assert (result.outcome, result.system) == ("pass", "v1 → v2")


def test_a_system_that_the_new_run_lost_fails() -> None:
    data = [*(Item(f"i{i}", (Turn("Is the garden open?"),)) for i in range(3))]
    records = [Response(f"i{i}/{s}", f"i{i}", s, "The garden is open.") for i in range(3) for s in ("a", "b", "c")]
    old = rejoinder.score(collect([*data, *records]), "context_overlap")
    old = replace(old, facts={spec: facts._replace(higher_is_better=True) for spec, facts in old.facts.items()})
    rest = collect([*data, *(one for one in records if one.system != "c")])
    new = replace(rejoinder.score(rest, "context_overlap"), facts=old.facts)
    results = check(new, older=old)
    assert [(one.system, one.outcome) for one in results] == [("a", "pass"), ("b", "pass"), ("c", "fail")]
    assert [one.system for one in check(new, older=old, systems=["a"])] == ["a"]


def test_what_the_old_run_measured_is_not_dropped_unseen() -> None:
    both = replies()
    fewer = replace(
        both, facts={**both.facts, "extra": both.facts["rouge_l"]}, values={**both.values, "extra": both["rouge_l"]}
    )
    with pytest.raises(RunError, match="only the old run has extra; score both with it, or name the metrics to check"):
        check(both, older=fewer)
    assert outcome(both, fewer, metrics=["rouge_l"]) == "pass"
    with pytest.raises(SpecError, match="length has no direction"):
        check(both, older=fewer, metrics=["length"])


def test_assert_no_worse_fails_a_test_with_the_reasons() -> None:
    rejoinder.assert_no_worse(run_of(noise(200)), OLD, ["apt"], 0.05)
    with pytest.raises(AssertionError, match=r"fail: apt of bot changed by -0.1000"):
        rejoinder.assert_no_worse(run_of(noise(200, drop=0.1)), OLD)
    with pytest.raises(AssertionError, match="inconclusive: apt of bot"):
        rejoinder.assert_no_worse(run_of(noise(200, spread=0.6)), OLD)
    rejoinder.assert_no_worse(run_of(noise(200, spread=0.6)), OLD, allow_inconclusive=True)


@pytest.mark.parametrize("kind", ["noise", "skewed", "binary", "failures", "drop and failures"])
def test_a_drop_of_the_margin_passes_in_at_most_a_twentieth(kind: str) -> None:
    random, case = np.random.default_rng(3), GateCase(kind, 80)
    rows = simulate(case, 0.0, random)[2]
    templates = make_scores(np.zeros(80), rows, "Old."), make_scores(np.zeros(80), rows, "New.")
    outcomes = [run_gate(case, MARGIN, random, templates) for _ in range(150)]
    assert outcomes.count("pass") <= 0.05 * 150 + 2 * math.sqrt(150 * 0.05 * 0.95)


# ---- what other programs read


def test_junit_has_a_case_per_check_and_survives_any_name() -> None:
    name = "bot\x1b<&>\ud800\"'"
    (result,) = check(run_of(noise(200, drop=0.1), system="v2"), older=OLD)
    results = [result._replace(system=name), *check(run_of(noise(200)), older=OLD), *check(OLD, ["apt>=0.9"])]
    results += check(run_of(noise(200, spread=0.6)), older=OLD, allow_inconclusive=True)
    suite = ElementTree.fromstring(format_junit(results).encode())[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "skipped": "1",
    }
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["system-out"], ["failure"], ["skipped"]]
    assert suite[0].get("name") == "apt of bot\ufffd<&>\ufffd\"': no worse"
    assert suite[0][0].get("type") == "fail"


def test_markdown_has_the_verdict_and_a_row_per_check() -> None:
    failed = format_check_markdown(check(run_of(noise(200, drop=0.1)), older=OLD))
    assert failed.startswith("### rejoinder check: fail: 1 check of 1 failed\n")
    assert "| fail | apt | bot | -0.1000 [" in failed
    assert "inconclusive: 1 of 1 checks" in format_check_markdown(check(run_of(noise(200, spread=0.6)), older=OLD))
    assert "pass: 1 check passed" in format_check_markdown(check(run_of(noise(200)), older=OLD))


def split_fences(text: str) -> tuple[str, list[list[str]]]:
    """What is outside of blocks of code in Markdown, and the lines of each block."""
    outside, fences, mark = [], list[list[str]](), ""
    for line in text.splitlines():
        opening = re.fullmatch(r"(`{3,})text", line)
        if not mark and opening:
            mark = opening[1]
            fences.append([])
        elif mark and re.fullmatch(r"`+", line) and len(line) >= len(mark):
            mark = ""
        else:
            (fences[-1] if mark else outside).append(line)
    return "\n".join(outside), fences


def test_markdown_shows_the_replies_that_lost_most_folded_and_harmless() -> None:
    evil = "</details> <script>alert(1)</script>\n\n# Title\n````\n@everyone [x](http://bad) ![y](z) | a\x1b[0m"
    old = run_of([0.9] * 100, [f"Good {i}." for i in range(100)], context="Well, {i}?\n@all <b>")
    values = [0.1 if i < 7 else 0.9 for i in range(100)]
    values[3] = 0.0
    new = run_of(values, [evil if i < 7 else f"Good {i}." for i in range(100)], context="Well, {i}?\n@all <b>")
    results = check(new, older=old)
    worse = find_worse_replies(new, old, results)
    assert [one.item for one in worse] == ["i3", "i0", "i1", "i2", "i4"]
    assert worse[0].scores == [("apt", 0.9, 0.0)]
    text = format_check_markdown([one._replace(system="@team") for one in results], worse)
    assert text.count("<details>") == 5
    assert "<summary>1. <code>bot</code> on <code>i3</code>: <code>apt</code> 0.900 → 0.000</summary>" in text
    assert "Good 3." in text
    assert "\x1b" not in text
    assert "| @<!-- -->team |" in text
    outside, fences = split_fences(text)
    assert len(fences) == 15
    assert fences[2][0].startswith("</details> <script>")
    assert "````" in fences[2]  # a longer fence is around it
    assert outside.count("</details>") == 5  # those of the replies are text
    assert not re.search(r"@\w|http|script|# Title|<b>", outside)


def test_worse_replies_are_ranked_by_their_margins_and_cut() -> None:
    old, new = run_of([0.9, 0.9]), run_of([0.9, 0.7], ["Same.", "word " * 1000])
    results = [result._replace(margin=0.05) for result in check(new, older=old, allow_inconclusive=True)]
    (reply,) = find_worse_replies(new, old, results)
    assert reply.item == "i1"
    assert len(format_check_markdown(results, [reply])) < 4000
    assert find_worse_replies(old, old, check(old, older=old)) == []
    assert find_worse_replies(new, old, check(new, ["apt>=0.1"])) == []
    lower = [run_of([0.1, 0.5], better=False), run_of([0.3, 0.2], better=False)]
    assert [one.item for one in find_worse_replies(lower[1], lower[0], check(lower[1], older=lower[0]))] == ["i0"]


def test_a_threshold_needs_a_score_of_every_reply_and_names_those_without() -> None:
    half = run_of([0.9, math.nan] * 10)
    (result,) = check(half, ["apt>=0.6"])
    assert (result.passed, result.outcome) == (False, "fail")
    assert "apt of bot is 0.9000" in result.reason
    assert "only 10 of 20 responses have a score, required all (--min-coverage)" in result.reason
    assert result.reason.endswith("without one: i1/bot, i3/bot, i5/bot, i7/bot, i9/bot and 5 more")
    (one,) = check(run_of([0.9] * 19 + [math.nan]), ["apt@bot<1"])
    assert one.reason.endswith("without one: i19/bot")
    assert check(run_of([0.9] * 20), ["apt>=0.6"])[0].passed


@pytest.mark.parametrize(
    ("share", "passed"), [(0.5, True), (0.51, False), (0, True), (1, False), (1.0, False), (None, False)]
)
def test_the_least_coverage_of_a_threshold_can_be_chosen(share: float | None, passed: bool) -> None:
    assert check(run_of([0.9, math.nan] * 10), ["apt>=0.6"], min_coverage=share)[0].passed == passed
    assert not check(run_of([math.nan] * 20), ["apt>=0.6"], min_coverage=share)[0].passed
    assert not check(run_of([0.5, math.nan] * 10), ["apt>=0.6"], min_coverage=share)[0].passed


@pytest.mark.parametrize("share", [95, -0.1, math.nan, "95%", "0.5"])
def test_a_coverage_that_is_no_share_is_refused(share: object) -> None:
    with pytest.raises(SpecError, match="the least coverage is a share from 0 to 1, not"):
        check(run_of([0.9]), ["apt>=0.6"], min_coverage=share)  # type: ignore[arg-type]


def test_dialogues_are_covered_at_their_last_replies() -> None:
    scores = run_of([math.nan, 0.9] * 10, size=2)
    facts = {"apt": scores.facts["apt"]._replace(unit="dialogue")}
    whole = replace(scores, facts=facts, is_last=np.array([False, True] * 10))
    assert check(whole, ["apt>=0.6"])[0].passed


def test_the_command_counts_empty_replies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"id": str(n), "prompt": "Is it open?", "response": "Yes, it is open." if n % 2 else ""} for n in range(10)]
    (tmp_path / "chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = CliRunner()
    assert run.invoke(program, ["score", "chats.jsonl", "-m", "length", "--empty", "nan", "-o", "r"]).exit_code == 0
    failed = run.invoke(program, ["check", "r", "--min", "length>=1"])
    assert failed.exit_code == 1
    assert "only 5 of 10 responses have a score" in failed.output
    assert run.invoke(program, ["check", "r", "--min", "length>=1", "--min-coverage", "0.5"]).exit_code == 0
    refused = run.invoke(program, ["check", "r", "--min", "length>=1", "--min-coverage", "95"])
    assert refused.exit_code == 2
