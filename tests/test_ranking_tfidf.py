"""TF-IDF that reads situations, and weighs as scikit-learn does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from rejoinder.data.writer import write
from rejoinder.errors import InputError, SpecError
from rejoinder.systems import parse_system
from rejoinder.systems.tfidf import Tfidf
from rejoinder.types import Candidate, Dialogue, Question, Statement, Turn
from tests.ranking_sets import situated


def corpus(folder: Path, *texts: str) -> str:
    path = folder / "talk.jsonl"
    write([Dialogue("d", tuple(map(Turn, texts)))], path)
    return str(path)


def asked(context: str, *candidates: str, situation: tuple[Statement, ...] = ()) -> Question:
    return Question("q", (Turn(context),), tuple(map(Candidate, candidates)), situation)


def test_smooth_weights_are_scikit_learns(tmp_path: Path) -> None:
    texts = (
        "The train is late.",
        "Is it the train? It is late late.",
        "I like soup a lot",
        "Soup is good, soup again!",
    )
    question = asked(
        "Is the train late? It is raining.", "The train, the late train.", "I like a train.", "Soup!", "raining cats"
    )
    found = Tfidf(fit=corpus(tmp_path, *texts), weights="smooth").score([question])
    # TfidfVectorizer().fit(texts) of scikit-learn 1.9.1, cosine of the transformed texts.
    assert found == [pytest.approx([0.6198190110220415, 0.23024923683852802, 0.0, 0.0], abs=1e-12)]


def test_smooth_weights_by_hand(tmp_path: Path) -> None:
    # Two documents, "aa bb" and "aa": aa weighs ln(3/3) + 1 = 1, bb ln(3/2) + 1; cc is unknown and weighs nothing.
    b = math.log(1.5) + 1
    found = Tfidf(fit=corpus(tmp_path, "aa bb", "aa"), weights="smooth").score([asked("aa bb cc", "aa", "cc c")])
    assert found == [[pytest.approx(1 / math.sqrt(1 + b * b)), 0.0]]


def test_equal_documents_may_count_once(tmp_path: Path) -> None:
    file = corpus(tmp_path, "aa bb", "aa", "aa", "aa")
    once = Tfidf(fit=file, weights="smooth", once=True).score([asked("aa bb", "aa")])
    assert once == Tfidf(fit=corpus(tmp_path, "aa bb", "aa"), weights="smooth").score([asked("aa bb", "aa")])


def test_statements_belong_to_the_context_where_a_situation_is_read() -> None:
    question = asked("Open it.", "some water", "the purifier", situation=(Statement("The purifier is off."),))
    plain, situation = Tfidf().score([question])[0], Tfidf(situation="u+S").score([question])[0]
    assert plain == [0.0, 0.0]
    assert situation[1] > situation[0] == 0.0


def test_documents_show_as_much_of_their_situation_as_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    question = Question(
        "t",
        (Turn("aa"),),
        (Candidate("bb"),),
        (Statement("cc", relevant=True), Statement("dd", relevant=False)),
    )
    write([question], path)
    for situation, weighed in (("u", "b"), ("u+S1", "bc"), ("u+S", "bcd")):
        system = Tfidf(fit=str(path), situation=situation, weights="smooth")
        scores = [system.score([asked("bb cc dd", word * 2)])[0][0] for word in "bcd"]
        assert [word for word, score in zip("bcd", scores, strict=True) if score] == list(weighed)
    unknown = tmp_path / "unknown.jsonl"
    write([Question("t", (Turn("aa"),), (Candidate("bb"),), (Statement("cc"),))], unknown)
    with pytest.raises(InputError, match="its statements are not marked as relevant or not"):
        Tfidf(fit=str(unknown), situation="u+S1").score([asked("aa", "bb")])


def test_the_statements_that_share_a_word_with_a_candidate_are_those_used() -> None:
    situation = tuple(map(Statement, ("It is cold.", "It rains.", "Water!")))
    question = asked("Open it.", "some cold water", "hm", situation=situation)
    assert Tfidf(situation="u+S", weights="smooth").used([question]) == [[(0, 2), ()]]
    assert Tfidf().used([question]) is None, "who reads no situation used nothing of it"


def test_a_long_statement_and_no_statement_are_read_like_any_other() -> None:
    long = Statement("window " * 5000)
    system = Tfidf(situation="u+S", weights="smooth")
    found = system.score([asked("Open it.", "the window", "a door", situation=(long,)), asked("Open it.", "it", "me")])
    assert found[0][0] > found[0][1]
    assert all(math.isfinite(score) for line in found for score in line)


def test_specs_are_read_back_and_wrong_ones_are_errors() -> None:
    system = Tfidf("dataset:sugar/0/train", situation="u+S1", weights="smooth", once=True)
    assert parse_system(str(system)) == system
    assert str(Tfidf()) == "tfidf"
    with pytest.raises(SpecError, match="situation must be one of"):
        Tfidf(situation="everything")
    with pytest.raises(SpecError, match="weights must be one of"):
        Tfidf(weights="heavy")  # type: ignore[arg-type]


def test_what_it_was_before_it_still_is() -> None:
    questions = [situated("a"), situated("b")]
    plain = [Question(q.id, q.context, q.candidates) for q in questions]
    assert Tfidf().score(questions) == Tfidf().score(plain), "without being told to, it reads no situation"
