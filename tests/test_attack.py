"""The attack on metrics: what is drawn, what is counted, and what the command says."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from rejoinder import cli
from rejoinder.data.inputs import DEFAULT_CORPORA
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.metric import NAN, Metric, Rows, SetMetric, Statistic
from rejoinder.probes import ATTACKS, AttackPlan, Robustness, attack
from rejoinder.probes.attack import read_attack_records
from rejoinder.probes.result import robustness_by_corpus_table, robustness_table, worst_case_table
from rejoinder.probes.sampling import draw_exchanges, share_evenly
from rejoinder.probes.trial_scores import average_by_corpus, score_wins
from rejoinder.stats.interval import mean_interval
from rejoinder.types import Dialogue, Item, Pair, Reference, Turn

WORDS = "tea milk rain late train bus dog cat sun moon red blue one two".split()
SMALL = AttackPlan(contexts=60, n_resamples=200)


def talk(name: str, n: int, corpus: str | None = "talks", split: str | None = "test") -> Dialogue:
    """A dialogue whose turns are all different."""
    turns = (Turn(f"We saw {WORDS[i % 14]} and {WORDS[(i + 3) % 14]} {name} {i}.", "AB"[i % 2]) for i in range(n))
    return Dialogue(name, tuple(turns), corpus, split)


TALKS = [talk(f"{corpus}{number}", 3 + number % 5, corpus) for corpus in ("films", "shops") for number in range(12)]


@dataclass(frozen=True)
class Oracle(Metric):
    """Knows the true replies: 1 for them, 0 for anything else."""

    calls: ClassVar = Counter[str]()

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        self.calls["score"] += 1
        return [float(pair.response.system == "true") for pair in pairs]


@dataclass(frozen=True)
class Distance(Metric):
    """The number of characters, of which fewer are better."""

    range = (0.0, math.inf)
    higher_is_better = False

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [float(len(pair.response.text)) for pair in pairs]


@dataclass(frozen=True)
class Percentile(SetMetric):
    """Where a reply's length stands among all lengths of the set."""

    settled: ClassVar = Counter[int]()

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        return [len(pair.response.text) for pair in pairs]

    def settle(self, rows: Rows) -> list[float]:
        self.settled[len(rows)] += 1
        lengths = sorted(row.statistic for row in rows)
        return [lengths.index(row.statistic) / len(lengths) for row in rows]


@dataclass(frozen=True)
class Nothing(Metric):
    """Cannot say anything."""

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        return [NAN] * len(pairs)


def attacked(metric: Metric, plan: AttackPlan = SMALL) -> Robustness:
    return attack(TALKS, [metric], plan)


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 40), min_size=1, max_size=8), st.integers(1, 200))
def test_corpora_give_equal_shares_unless_they_have_too_little(sizes: dict[str, int], total: int) -> None:
    shares = share_evenly(sizes, total)
    assert sum(shares.values()) == min(total, sum(sizes.values()))
    assert all(shares[name] <= sizes[name] for name in sizes)
    short_of = [shares[name] for name in sizes if shares[name] < sizes[name]]
    assert max(shares.values()) - min(short_of, default=max(shares.values())) <= 1


def test_contexts_have_one_to_five_turns_and_two_where_they_can() -> None:
    found = draw_exchanges([talk("long", 12), talk("short", 2), talk("mid", 3)], 4, "test", 0)
    assert {len(exchange.context) for exchange in found} <= {2, 3, 4, 5}
    everything = draw_exchanges([talk("long", 12), talk("short", 2), talk("mid", 3)], 99, "test", 0)
    assert len(everything) == 11 + 1 + 2
    for exchange in everything:
        assert 1 <= len(exchange.context) <= 5
    last = next(e for e in everything if e.id == "talks/long#11")
    assert [turn.text for turn in last.context] == [turn.text for turn in talk("long", 12).turns[6:11]]
    assert last.following is None


def test_dialogues_are_drawn_before_a_second_turn_of_one() -> None:
    found = draw_exchanges([talk(f"d{n}", 20) for n in range(10)], 10, "test", 3)
    assert len({exchange.dialogue for exchange in found}) == 10
    assert found == draw_exchanges([talk(f"d{n}", 20) for n in range(10)], 10, "test", 3)
    assert found != draw_exchanges([talk(f"d{n}", 20) for n in range(10)], 10, "test", 4)


def test_other_splits_stay_out_and_dialogues_without_one_are_used() -> None:
    given_ = [talk("a", 4, split="train"), talk("b", 4, split="valid"), talk("c", 4), talk("d", 4, split=None)]
    assert {exchange.dialogue for exchange in draw_exchanges(given_, 99, "test", 0)} == {"talks/c", "talks/d"}
    assert {exchange.dialogue for exchange in draw_exchanges(given_, 99, "valid", 0)} == {"talks/b", "talks/d"}
    with pytest.raises(InputError, match=r"no dialogue is in the split 'test'.*found: train, valid"):
        draw_exchanges(given_[:2], 99, "test", 0)


def test_the_turn_after_the_reply_counts_only_from_another_speaker() -> None:
    turns = (Turn("Tea?", "A"), Turn("Yes.", "B"), Turn("And milk.", "B"), Turn("Here.", "A"))
    found = {e.reply: e.following for e in draw_exchanges([Dialogue("d", turns)], 99, "test", 0)}
    assert found == {"Yes.": None, "And milk.": "Here.", "Here.": None}
    unnamed = Dialogue("d", tuple(Turn(turn.text) for turn in turns))
    assert {e.reply: e.following for e in draw_exchanges([unnamed], 99, "test", 0)}["Yes."] == "And milk."


def test_a_reply_without_words_is_no_reply() -> None:
    dots = Dialogue("d", (Turn("Tea?"), Turn("..."), Turn("Well?"), Turn("Yes.")))
    assert {e.reply for e in draw_exchanges([dots], 99, "test", 0)} == {"Well?", "Yes."}


def test_what_holds_no_true_reply_is_an_error() -> None:
    with pytest.raises(InputError, match="no true reply"):
        attack([Dialogue("d", (Turn("Tea?"),)), Item("i", (Turn("Tea?"),))], [Oracle()])
    with pytest.raises(InputError, match="have the id 'd'"):
        attack([talk("d", 3), talk("d", 4)], [Oracle()])
    with pytest.raises(InputError, match="contexts"):
        attack(TALKS, [Oracle()], AttackPlan(contexts=0))


def test_a_metric_that_knows_the_true_replies_always_wins() -> None:
    found = attacked(Oracle())
    for attacked_by in ATTACKS:
        outcome = found.outcome("test_attack", attacked_by.name)
        assert (outcome.value.value, outcome.value.high, outcome.beside) == (1.0, 1.0, 0.0)
        assert 0.8 < outcome.value.low < 1  # always right on so few dialogues is not sure to be always right
    assert found.outcome("test_attack", "case").value.value == 1.0
    assert found.outcome("test_attack", "case").beside == -1.0
    assert found.contexts == {"films": 30, "shops": 30}


def test_fewer_can_be_better_and_edits_have_the_interquartile_range_as_unit() -> None:
    found = attacked(Distance())
    assert found.outcome("test_attack", "repeated").value.value == 1.0
    assert found.outcome("test_attack", "reversed").value.value == 0.5
    assert found.outcome("test_attack", "reversed").beside == 1.0
    lengths = [len(e.reply) for e in draw_exchanges(TALKS, 60, "test", 0)]
    unit = float(np.quantile(lengths, 0.75) - np.quantile(lengths, 0.25))
    assert found.metrics["test_attack"].unit == unit
    full_stop = found.outcome("test_attack", "punctuation")
    assert math.isclose(full_stop.value.value, 1 / unit)
    assert math.isclose(full_stop.beside, 1 / unit)  # shorter is better here
    assert "no bounds" in str(found)


def test_everything_is_scored_in_one_call_and_settled_as_one_set() -> None:
    Oracle.calls.clear()
    attacked(Oracle())
    assert Oracle.calls["score"] == 1
    Percentile.settled.clear()
    found = attacked(Percentile())
    texts = sum(found.outcome("test_attack", o.trial).value.n for o in found.outcomes if o.corpus is None)
    assert Percentile.settled == {60 + texts: 1}


def test_what_has_no_score_is_counted_and_gives_no_figure() -> None:
    outcome = attacked(Nothing()).outcome("test_attack", "copy")
    assert math.isnan(outcome.value.value)
    assert (outcome.value.n, outcome.value.n_missing, outcome.left_out) == (0, 60, 0)


def test_left_out_and_compared_contexts_make_up_all() -> None:
    for outcome in attacked(Oracle()).outcomes:
        total = 60 if outcome.corpus is None else 30
        assert outcome.value.n + outcome.value.n_missing + outcome.left_out == total


def test_ties_count_half() -> None:
    assert score_wins(np.array([0.5, 0.0, -2.0])).tolist() == [1.0, 0.5, 0.0]
    assert math.isnan(score_wins(np.array([NAN]))[0])


def test_every_corpus_counts_the_same() -> None:
    # By hand: corpus 0 has the mean 3/4, corpus 1 the mean 0 (its NaN does not count), corpus 2 nothing.
    columns = np.array([[1.0], [1.0], [1.0], [0.0], [0.0], [NAN], [NAN]])
    taken = average_by_corpus(columns, np.array([0, 0, 0, 0, 1, 1, 2]), ["a", "a", "b", "b", "c", "d", "e"], 500, 0)
    assert taken.mean(0, 0).value == 0.75
    over = taken.mean(0, None)
    assert (over.value, over.n, over.n_clusters) == (0.375, 5, 3)
    assert math.isnan(taken.mean(0, 2).value)


def test_the_interval_of_one_corpus_is_near_the_cluster_robust_one() -> None:
    random = np.random.default_rng(5)
    dialogues = [f"d{i // 4}" for i in range(800)]
    values = (random.normal(size=200).repeat(4) + random.normal(size=800) > 0).astype(float)
    drawn = average_by_corpus(values[:, None], np.zeros(800, dtype=np.int64), dialogues, 4000, 0).mean(0, None)
    exact = mean_interval(values, dialogues)
    assert drawn.value == exact.value
    assert drawn.low == pytest.approx(exact.low, abs=0.004)
    assert drawn.high == pytest.approx(exact.high, abs=0.004)


def test_a_metric_with_references_needs_others_than_the_true_reply() -> None:
    with pytest.raises(SpecError, match="bleu needs references, but the only one would be the true reply"):
        attack(TALKS, ["bleu"], SMALL)
    items = [
        Item(
            f"i{n}",
            (Turn(f"Is it {word}?"),),
            tuple(Reference(t) for t in (f"Yes, it is {word} now.", f"It is {word}.")),
        )
        for n, word in enumerate(WORDS)
    ]
    found = attack(items, ["bleu(n=1)"], SMALL)
    assert found.outcome("bleu(n=1)", "other_dialogue").value.value > 0.9
    assert "references:human" in found.metrics["bleu(n=1)"].signature
    with pytest.raises(SpecError, match="needs references"):
        attack([Item("i", (Turn("Tea?"),), (Reference("Yes."),))], ["bleu"], SMALL)


def test_without_a_name_every_metric_that_can_is_attacked_and_the_others_are_told() -> None:
    found = attack(TALKS, None, SMALL)
    assert {"context_overlap", "length", "distinct"} <= set(found.metrics)
    assert not {"bleu", "meteor"} & set(found.metrics)
    assert any("because they need references" in note and "bleu" in note for note in found.notes)


def test_a_metric_that_fails_is_an_error_where_it_was_named() -> None:
    with pytest.raises(RejoinderError, match="no metric is called 'blue'"):
        attack(TALKS, ["blue"], SMALL)


def test_the_worst_cases_come_first_and_equal_ones_from_all_corpora() -> None:
    found = attacked(Distance(), AttackPlan(contexts=60, n_resamples=50, examples=4))
    worst = [example for example in found.examples if example.trial == "copy"]
    assert len(worst) == 4
    leads = [example.text_score - example.reply_score for example in worst]
    assert leads == sorted(leads)
    assert not [example for example in found.examples if example.trial == "repeated"]
    tied = [example.corpus for example in found.examples if example.trial == "reversed"]
    assert sorted(tied) == ["films", "films", "shops", "shops"]


def test_the_tables_show_every_trial_corpus_and_example() -> None:
    found = attack(TALKS, ["length", "context_overlap"], SMALL)
    summary = robustness_table(found)
    assert summary.heads == ["kind", "trial", "contexts", "length", "context_overlap"]
    assert len(summary.rows) == 12
    assert [row[0] for row in robustness_by_corpus_table(found, "length").rows] == [
        "films",
        "shops",
        "mean over corpora",
    ]
    assert all(len(row) == 7 for row in worst_case_table(found, "length", 1).rows)
    assert "Robustness: 60 contexts" in found._repr_html_()


def test_the_same_attack_gives_the_same_figures() -> None:
    assert attacked(Distance()).to_object() == attacked(Distance()).to_object()
    assert attacked(Distance()).to_object() != attacked(Distance(), AttackPlan(60, seed=1, n_resamples=200)).to_object()


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    write([talk(f"t{n}", 6, corpus=None, split=None) for n in range(10)], path)
    return path


def test_the_command_prints_the_table_and_writes_the_figures(talks: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    options = [
        "attack",
        str(talks),
        "-m",
        "length",
        "--contexts",
        "20",
        "--by-corpus",
        "--examples",
        "1",
        "-o",
        str(out),
    ]
    done = CliRunner().invoke(cli.program, options)
    assert done.exit_code == 0, done.output
    assert "Robustness: 20 contexts, mine" in done.output
    assert "length by corpus" in done.output
    assert "length: worst cases" in done.output
    found = json.loads(out.read_bytes())
    assert found["contexts"] == {"mine": 20}
    assert found["plan"]["seed"] == 0
    assert {figure["trial"] for figure in found["figures"]} >= {"copy", "synonyms"}
    assert found["examples"][0]["context"]
    again = tmp_path / "again.json"
    CliRunner().invoke(cli.program, [*options[:-1], str(again)])
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize("form", ["markdown", "html", "latex", "csv", "json"])
def test_the_tables_come_in_every_form(talks: Path, form: str) -> None:
    done = CliRunner().invoke(cli.program, ["attack", str(talks), "-m", "length", "--format", form])
    assert done.exit_code == 0, done.output
    assert "near" in done.output


def test_a_file_without_dialogues_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write([Item("i", (Turn("Tea?"),))], path)
    done = CliRunner().invoke(cli.program, ["attack", str(path)])
    assert isinstance(done.exception, InputError)
    assert "rejoinder import" in str(done.exception)


def test_a_dialogue_that_stands_twice_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    write([talk("d", 3), talk("d", 3)], path)
    with pytest.raises(InputError, match=r"line 2: dialogue id 'd' was already used in .*twice.jsonl line 1"):
        list(read_attack_records([str(path)]))


def test_the_published_corpora_give_contexts_from_all_of_them(published: Path) -> None:
    found = attack(read_attack_records(DEFAULT_CORPORA), ["context_overlap"], AttackPlan(contexts=280, n_resamples=100))
    assert len(found.contexts) == 14
    assert found.contexts["sgd"] == 20
    assert found.outcome("context_overlap", "copy").value.value < 0.1


def test_the_python_of_the_page_runs() -> None:
    page = (Path(__file__).parent.parent / "docs" / "robustness.md").read_text()
    for block in re.findall(r"```python\n(.*?)\n```", page, re.DOTALL):
        exec(block, {})
