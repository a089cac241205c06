"""The reproductions of aptness itself, on made-up talks and metrics whose figures are known beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.own import held_out, lengths, robustness

from rejoinder.cli import program
from rejoinder.data.inputs import DEFAULT_CORPORA
from rejoinder.errors import InputError, SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.models.aptness.model import open_aptness
from rejoinder.probes import AttackPlan, attack
from rejoinder.types import Dialogue, Pair, Turn

WORDS = "tea milk rain late train bus dog cat sun moon red blue one two".split()


def talk(name: str, n: int, corpus: str) -> Dialogue:
    """A dialogue whose turns are all different."""
    turns = (Turn(f"We saw {WORDS[i % 14]} and {WORDS[(i + 3) % 14]} {name} {i}.", "AB"[i % 2]) for i in range(n))
    return Dialogue(name, tuple(turns), corpus, "test")


TALKS = [talk(f"{corpus}{number}", 3 + number % 5, corpus) for corpus in ("films", "shops") for number in range(12)]


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No published set is read."""

    def records(given: Sequence[str]) -> Iterator[Dialogue]:
        assert given == DEFAULT_CORPORA
        return iter(TALKS)

    for module in (held_out, robustness):
        monkeypatch.setattr(module, "read_attack_records", records)


class Made(Metric):
    """A metric that a function of the pair gives."""

    def __init__(self, of: Callable[[Pair], float], name: str = "made") -> None:
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "name", name)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        of: Any = vars(self)["of"]
        return [of(pair) for pair in pairs]

    def __str__(self) -> str:
        return str(vars(self)["name"])


def measured(monkeypatch: pytest.MonkeyPatch, metric: Metric) -> Reproduction:
    monkeypatch.setattr(held_out, "parse", lambda spec: metric)
    return held_out.reproduce(["made"])


def at(found: Reproduction, table: str, row: str) -> Figure:
    [one] = [f for f in found.figures if (f.table, f.row) == (table, row)]
    return one


def is_true(pair: Pair) -> bool:
    return pair.response.system == "true"


def test_a_metric_that_knows_the_truth_wins_always(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, Made(lambda pair: 0.8 if is_true(pair) else 0.3))
    for corpus in ("films", "shops"):
        wins, error = at(found, held_out.WINS, corpus), at(found, held_out.ERROR, corpus)
        contexts = sum(len(talk.turns) - 1 for talk in TALKS if talk.corpus == corpus)
        assert (wins.measured, wins.low, wins.high, wins.n) == (1, 1, 1, contexts)
        assert error.measured == pytest.approx((0.2 + 0.3) / 2)
        assert error.n == 2 * contexts
    assert at(found, held_out.WINS, "mean of corpora").measured == 1
    assert at(found, held_out.ERROR, "largest").measured == pytest.approx(0.25)
    assert f"{sum(len(talk.turns) - 1 for talk in TALKS)} contexts" in found.notes[0]


def test_a_tie_counts_half_and_is_calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, Made(lambda pair: 0.5))
    assert at(found, held_out.WINS, "mean of corpora").measured == 0.5
    assert at(found, held_out.ERROR, "largest").measured == 0


def test_corpora_count_the_same_and_the_largest_error_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(pair: Pair) -> float:
        return float(is_true(pair)) if pair.item.id.startswith("films/") else 0.5

    monkeypatch.setattr(held_out, "read_attack_records", lambda given: iter(TALKS[:3] + TALKS[12:]))
    found = measured(monkeypatch, Made(lambda pair: 0.9 if of(pair) == 1 else 0.5))
    assert at(found, held_out.WINS, "films").measured == 1
    assert at(found, held_out.WINS, "shops").measured == 0.5
    assert at(found, held_out.WINS, "mean of corpora").measured == 0.75
    assert at(found, held_out.ERROR, "largest").measured == at(found, held_out.ERROR, "films").measured > 0


def test_a_pair_without_a_score_is_no_defeat(monkeypatch: pytest.MonkeyPatch) -> None:
    def of(pair: Pair) -> float:
        return NAN if pair.response.text.endswith("1.") else 0.75 if is_true(pair) else 0.25

    found = measured(monkeypatch, Made(of))
    wins = at(found, held_out.WINS, "films")
    assert wins.measured == 1
    assert wins.n is not None
    assert 0 < wins.n < sum(len(talk.turns) - 1 for talk in TALKS[:12])
    assert at(found, held_out.ERROR, "films").n == 2 * wins.n
    assert at(found, held_out.ERROR, "films").measured == 0.25


def test_a_metric_without_any_score_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(monkeypatch, Made(lambda pair: NAN))
    assert all(math.isnan(figure.measured) for figure in found.figures)
    assert at(found, held_out.WINS, "mean of corpora").n == 0


def test_what_is_no_probability_has_no_calibration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Made(lambda pair: 7.0 if is_true(pair) else 9.0)
    object.__setattr__(metric, "range", (0.0, math.inf))
    tables = {f.table for f in measured(monkeypatch, metric).figures}
    assert held_out.WINS in tables
    assert all(table.startswith(held_out.WINS) for table in tables)
    object.__setattr__(metric, "higher_is_better", False)
    assert at(measured(monkeypatch, metric), held_out.WINS, "mean of corpora").measured == 1


def test_wins_are_also_shown_by_the_length_of_context_and_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "CONTEXT_BINS", (20,))
    monkeypatch.setattr(lengths, "FEWEST", 5)
    monkeypatch.setattr(held_out, "FEWEST", 5)

    def is_long(pair: Pair) -> bool:
        return open_aptness().count_tokens([[t.text for t in pair.item.context]], [""])[0][0] >= 20

    found = measured(monkeypatch, Made(lambda pair: float(is_true(pair) == is_long(pair))))
    table = f"{held_out.WINS}, by tokens of the context"
    short, long = at(found, table, "1 to 19"), at(found, table, "20 or more")
    assert (short.measured, long.measured) == (0.0, 1.0)
    assert (short.n or 0) + (long.n or 0) == at(found, held_out.WINS, "mean of corpora").n
    replies = [f for f in found.figures if f.table == f"{held_out.WINS}, by tokens of the reply"]
    assert [f.row for f in replies] == ["9 to 16"]  # all others have too few, or none


def test_dialogues_are_the_unit_of_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wins that are alike within a dialogue say less than as many by themselves."""
    in_turn: dict[str, int] = {}

    def by_dialogue(pair: Pair) -> float:
        won = int(str(pair.item.dialogue)[-1]) % 2
        return 0.5 + (0.1 if is_true(pair) else -0.1) * (1 if won else -1)

    def by_turn(pair: Pair) -> float:
        number = in_turn.setdefault(pair.item.id, len(in_turn))
        return 0.5 + (0.1 if is_true(pair) else -0.1) * (1 if number % 2 else -1)

    def width(metric: Metric) -> float:
        figure = at(measured(monkeypatch, metric), held_out.WINS, "films")
        assert figure.low is not None
        assert figure.high is not None
        return figure.high - figure.low

    assert width(Made(by_dialogue)) > 1.3 * width(Made(by_turn))


def test_the_same_pairs_are_drawn_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[tuple[str, str]]] = []

    class Noting(Made):
        def score(self, pairs: Sequence[Pair]) -> list[float]:
            seen.append([(pair.item.id, pair.response.text) for pair in pairs])
            return [0.5] * len(pairs)

    for _ in range(2):
        measured(monkeypatch, Noting(lambda pair: 0.5))
    first, second = np.array(seen[0]).reshape(-1, 2, 2).tolist(), np.array(seen[1]).reshape(-1, 2, 2).tolist()
    assert first == second
    true = {f"{talk.corpus}/{talk.id}#{i}": turn.text for talk in TALKS for i, turn in enumerate(talk.turns)}
    replies = {corpus: {t.text for d in TALKS if d.corpus == corpus for t in d.turns} for corpus in ("films", "shops")}
    for (name, reply), (_, other) in first:
        assert reply == true[name] != other
        assert other in replies[name.partition("/")[0]]


def test_a_corpus_of_one_dialogue_has_no_other_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "pick_from_other_dialogue", lambda rng, exchange: None)
    with pytest.raises(InputError, match="no corpus has a second dialogue"):
        held_out.reproduce(["length"])


def test_a_wrong_name_is_told_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "read_attack_records", lambda given: pytest.fail("read"))
    with pytest.raises(SpecError, match="lengthh"):
        held_out.reproduce(["lengthh"])


def test_the_attack_table_is_the_mean_over_corpora() -> None:
    plan = AttackPlan(contexts=40, n_resamples=50)
    found = robustness.reproduce(["length", "context_overlap"], plan)
    whole = attack(TALKS, ["length", "context_overlap"], plan)
    figures = {(f.column, f.table, f.row): f for f in found.figures}
    assert len(figures) == len(found.figures) == sum(one.corpus is None for one in whole.outcomes)
    for one in whole.outcomes:
        if one.corpus is None:
            figure = figures[one.metric, robustness.KINDS[one.kind], one.trial]
            shown = (figure.measured, figure.low, figure.high, figure.n)
            wanted = (one.value.value, one.value.low, one.value.high, one.value.n)
            assert shown == pytest.approx(wanted, nan_ok=True)
    assert figures["length", robustness.KINDS["attack"], "repeated"].measured == 0
    assert figures["context_overlap", robustness.KINDS["edit"], "case"].measured == 0
    assert found.notes[0].startswith("Contexts: films 20, shops 20.")


@pytest.mark.parametrize("name", ["held-out", "robustness"])
def test_metrics_are_named_on_the_command_line(name: str, published: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        program, ["reproduce", name, "-m", "length", "-m", "context_overlap", "--output", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    text = (tmp_path / f"{name}.md").read_text()
    assert "length" in text
    assert "context_overlap" in text
    assert "aptness(" not in text
    assert (tmp_path / f"{name}.json").exists()


def test_metrics_are_refused_where_a_paper_names_them(tmp_path: Path) -> None:
    done = CliRunner().invoke(program, ["reproduce", "scarce-overlap", "-m", "length", "--output", str(tmp_path)])
    assert isinstance(done.exception, SpecError)
    assert str(done.exception) == (
        "scarce-overlap measures only the metrics of its paper; leave out the parameter metrics"
    )
