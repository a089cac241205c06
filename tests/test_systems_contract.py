"""What every system owes: a spec that parses back, one score a candidate, and blindness to order, grade and source."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_language_model
from judge_server import served
from tiny_systems import QUESTIONS, echoes, prefers_long, shuffled, write_sequence_model

from rejoinder.errors import SpecError
from rejoinder.systems import System, parse_system, system_names, system_signature
from rejoinder.types import Candidate, Turn

KINDS = ["causal", "chat", "completion", "embedded", "function", "metric", "seq2seq", "tfidf"]
NEURAL = {"causal", "embedded", "seq2seq"}
FILE = "def likes(context, candidates):\n    return [len(set(c) & set(''.join(context))) for c in candidates]\n"


@pytest.fixture
def specs(tmp_path: Path, own_cache: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """A spec of each kind of system, ready to be asked."""
    kind = request.node.callspec.params["kind"]
    if kind in NEURAL:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    made = {"tfidf": "tfidf", "metric": "aptness(model='bi')", "embedded": "embedded"}
    if kind == "embedded":
        tiny_language_model.install(own_cache)
    if kind == "causal":
        tiny_language_model.write_language_model(tmp_path / "lm")
        made[kind] = f"hf:{tmp_path / 'lm'}"
    if kind == "seq2seq":
        made[kind] = f"seq2seq:{write_sequence_model(tmp_path / 'bart', 'bart')}"
    if kind == "function":
        (tmp_path / "mine.py").write_text(FILE)
        made[kind] = f"{tmp_path / 'mine.py'}:likes"
    with served(echoes() if kind == "completion" else prefers_long) as server:
        made |= {name: f"{name}(model='m', url='{server.url}')" for name in ("chat", "completion")}
        yield made


@pytest.fixture
def system(specs: dict[str, str], kind: str) -> System:
    return parse_system(specs[kind])


def same(first: list[float], second: list[float]) -> bool:
    return len(first) == len(second) and all(
        (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, abs=1e-4) for a, b in zip(first, second, strict=True)
    )


def test_every_kind_of_system_is_held_to_the_contract() -> None:
    assert set(system_names()) == {*KINDS, "generator", "ranker"}  # which have tests of their own


@pytest.mark.parametrize("kind", KINDS)
def test_a_systems_spec_is_read_back_as_the_same_system(system: System, kind: str) -> None:
    assert parse_system(str(system)) == system
    assert str(parse_system(str(system))) == str(system)
    assert str(system).startswith(kind)
    assert system.citation
    assert all(isinstance(value, str) for value in system.details().values())
    assert system_signature(system).startswith(f"{kind}|")


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_score_a_candidate_whatever_the_question(system: System, kind: str) -> None:
    found = system.score(QUESTIONS)
    assert [len(scores) for scores in found] == [len(one.candidates) for one in QUESTIONS]
    by_id = {one.id: scores for one, scores in zip(QUESTIONS, found, strict=True)}
    assert not any(map(math.isnan, [*by_id["q1"], *by_id["q2"], *by_id["one"], *by_id["blank"][1:]]))
    assert math.isnan(by_id["blank"][0]), "nothing can be said of a blank candidate"
    assert by_id["twice"][0] == by_id["twice"][1], "what says the same is worth the same"
    says_nothing = kind in ("metric", "tfidf")  # they compare with a context, so without one there is nothing to say
    assert all(math.isnan(score) == says_nothing for score in by_id["empty"])
    assert system.score([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_candidates_never_matters(system: System, kind: str) -> None:
    found = system.score(QUESTIONS)
    turned, orders = shuffled(QUESTIONS)
    again = system.score(turned)
    for before, after, order in zip(found, again, orders, strict=True):
        assert same([before[k] for k in order], after)


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_alone_gets_what_it_gets_among_others(system: System, kind: str) -> None:
    if kind == "tfidf":
        pytest.skip("its words are weighed by all questions that are asked together")
    found = system.score(QUESTIONS)
    assert all(same(system.score([one])[0], scores) for one, scores in zip(QUESTIONS, found, strict=True))
    plain = system.answer(["what about the train"], [c.text for c in QUESTIONS[1].candidates])
    assert same(plain, found[1])


@pytest.mark.parametrize("kind", KINDS)
def test_grade_source_labels_and_meta_are_not_looked_at(system: System, kind: str) -> None:
    found = system.score(QUESTIONS)
    hidden = [
        dataclasses.replace(
            one,
            candidates=tuple(
                Candidate(c.text, f"c{n}", "best" if n else "bad", "bm25", ("wrong-tense",), {"score": n})
                for n, c in enumerate(one.candidates)
            ),
            context=tuple(Turn(turn.text) for turn in one.context),
            split="test",
        )
        for one in QUESTIONS
    ]
    assert all(same(a, b) for a, b in zip(found, system.score(hidden), strict=True))


def test_wrong_names_are_told_with_the_nearest_right_one() -> None:
    with pytest.raises(SpecError, match="did you mean 'tfidf'"):
        parse_system("tfidff")
    with pytest.raises(SpecError, match="causal needs the parameter 'model'"):
        parse_system("causal")
    with pytest.raises(SpecError, match="normalise must be one of 'token', 'none'"):
        parse_system("embedded(normalise='word')")
    with pytest.raises(SpecError, match="tfidf has no parameter 'fitt'; did you mean 'fit'"):
        parse_system("tfidf(fitt='x')")
