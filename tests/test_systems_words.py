"""TF-IDF, metrics and functions of the user's own as systems."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_contract import WITH_PARAMETERS
from tiny_systems import QUESTIONS, question

from rejoinder import metric, systems
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.metric import Rows, SetMetric, Statistic
from rejoinder.metrics.aptness import aptness
from rejoinder.systems import _texts, parse_system, system_signature
from rejoinder.systems.function import Function
from rejoinder.systems.metric import Measured
from rejoinder.systems.tfidf import Tfidf
from rejoinder.types import Dialogue, Question, Turn

# TF-IDF

TRAINS = [
    question("a", ["Is the train late?"], "The train is late.", "I like soup."),
    question("b", ["Soup, soup again?"], "Is it late?", "Soup is good."),
]


def direct(questions: list[Question], documents: list[list[str]]) -> list[list[float]]:
    """The formula of the paper with whole vectors over the vocabulary: f(w, d) log(N / n), then the cosine."""
    vocabulary = sorted(
        {word for document in documents for word in document} | {w for q in questions for w in all_of(q)}
    )
    held = np.array([max(1, sum(word in document for document in documents)) for word in vocabulary])
    weights = np.log(len(documents) / held)

    def vector(words: list[str]) -> Any:
        return np.array([Counter(words)[word] for word in vocabulary]) * weights

    found = []
    for one in questions:
        context = vector([w for turn in one.context for w in words_of(turn.text)])
        others = [vector(words_of(candidate.text)) for candidate in one.candidates]
        lengths = [np.linalg.norm(context) * np.linalg.norm(other) for other in others]
        found.append([float(context @ o / n) if n else 0.0 for o, n in zip(others, lengths, strict=True)])
    return found


def words_of(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def all_of(one: Question) -> list[str]:
    return words_of(" ".join([*(turn.text for turn in one.context), *(c.text for c in one.candidates)]))


def test_tfidf_is_the_formula_of_the_paper_over_the_questions_themselves() -> None:
    documents = [words_of(turn.text) for one in TRAINS for turn in one.context]
    documents += [words_of(candidate.text) for one in TRAINS for candidate in one.candidates]
    assert Tfidf().score(TRAINS) == [pytest.approx(scores) for scores in direct(TRAINS, documents)]


def test_tfidf_by_hand() -> None:
    # Three documents: "a b", "a c", "d". a stands in two (weight w = log 3/2), b, c and d in one (v = log 3).
    # Context (w, v, 0), candidate "a c" (w, 0, v): the cosine is w^2 / (w^2 + v^2); "d" shares nothing.
    w, v = math.log(3 / 2), math.log(3)
    found = Tfidf().score([question("q", ["aa bb"], "aa cc", "dd")])
    assert found == [[pytest.approx(w * w / (w * w + v * v)), 0.0]]


def test_words_are_weighed_by_a_corpus_where_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl.gz"
    turns = ["the train is late", "is it", "soup and the soup", "late late late"]
    write([Dialogue("d1", tuple(map(Turn, turns[:2]))), Dialogue("d2", tuple(map(Turn, turns[2:])))], file)
    system = parse_system(f"tfidf(fit={str(file)!r})")
    assert system.score(TRAINS) == [pytest.approx(s) for s in direct(TRAINS, [words_of(turn) for turn in turns])]
    assert system.score(TRAINS[:1]) == system.score(TRAINS)[:1], "with a corpus, the other questions do not matter"
    assert len(system.details()["documents"]) == 12
    before = system_signature(system)
    write([Dialogue("d1", tuple(map(Turn, ["soup", "late"])))], file)
    assert system_signature(system) != before
    assert system.score(TRAINS) == [pytest.approx(s) for s in direct(TRAINS, [["soup"], ["late"]])]


def test_items_questions_and_responses_can_be_a_corpus(tmp_path: Path) -> None:
    file = tmp_path / "mixed.jsonl"
    lines: list[dict[str, Any]] = [
        {"kind": "item", "id": "i", "context": ["the train"], "references": ["is late"]},
        {"kind": "response", "id": "r", "item": "i", "system": "s", "text": "soup"},
        {"kind": "question", "id": "q", "context": ["again"], "candidates": [{"text": "late soup"}]},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    documents = [["the", "train"], ["is", "late"], ["soup"], ["again"], ["late", "soup"]]
    assert Tfidf(str(file)).score(TRAINS) == [pytest.approx(s) for s in direct(TRAINS, documents)]


def test_content_words_alone_leave_out_what_carries_no_meaning() -> None:
    asked = [question("q", ["what is it about the train"], "it is what it is", "a train")]
    assert Tfidf(words="content").score(asked)[0][0] == 0.0
    assert Tfidf().score(asked)[0][0] > 0


def test_a_corpus_that_is_nothing_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Tfidf(str(tmp_path / "none.jsonl")).score(TRAINS)
    (tmp_path / "rating.jsonl").write_text(
        '{"kind": "rating", "rater": "r", "aspect": "a", "value": 1, "response": "x"}\n'
    )
    with pytest.raises(InputError, match="has no text to count words in"):
        Tfidf(str(tmp_path / "rating.jsonl")).score(TRAINS)
    with pytest.raises(SpecError, match="no dataset is called 'nothing'"):
        Tfidf("dataset:nothing").score(TRAINS)
    with pytest.raises(SpecError, match="fit must name a file"):
        Tfidf(" ")


def test_a_word_in_every_document_says_nothing() -> None:
    assert Tfidf().score([question("q", ["yes"], "yes", "yes!")]) == [[0.0, 0.0]]


def test_candidates_without_words_share_nothing() -> None:
    assert Tfidf().score([question("q", ["hello there"], "...", "there you are")])[0][0] == 0.0


# Metrics


def test_a_metric_scores_candidates_as_responses() -> None:
    system = parse_system("aptness(model='bi')")
    assert system == Measured("aptness(model='bi')")
    found = system.score(QUESTIONS[:2])
    for one, scores in zip(QUESTIONS[:2], found, strict=True):
        context = [turn.text for turn in one.context]
        texts = [candidate.text for candidate in one.candidates]
        direct_scores = aptness([context] * len(texts), texts, model="bi")
        assert scores == pytest.approx(direct_scores, abs=1e-4)
        assert scores == [round(score, 4) for score in scores]
    assert "of:aptness" in system_signature(system)


def test_another_way_to_write_a_metric_is_the_same_system() -> None:
    assert parse_system("aptness( model = 'both' )") == parse_system("metric(spec='aptness')")
    assert str(parse_system("aptness")) == "metric(spec='aptness')"


@pytest.mark.parametrize("name", metric.metric_names())
def test_every_metric_can_choose_or_says_why_not(name: str) -> None:
    cls = metric.metric_class(name)
    if "references" in cls.needs:
        with pytest.raises(SpecError, match="needs references, which a question does not have"):
            parse_system(name)
    elif cls.higher_is_better is None:
        with pytest.raises(SpecError, match="does not say whether higher or lower is better"):
            parse_system(name)
    elif name in WITH_PARAMETERS and name != "usr":  # which has its parameters there to need no model of a hub
        with pytest.raises(SpecError, match="needs"):
            parse_system(name)
        assert str(parse_system(WITH_PARAMETERS[name])).startswith("metric(spec=")
    else:
        assert str(parse_system(name)) == f"metric(spec={name!r})"


METRICS = '''
import math
from dataclasses import dataclass
from rejoinder import Metric

@dataclass(frozen=True)
class Dull(Metric):
    """Less is better."""
    range = (0.0, math.inf)
    higher_is_better = False
    def score(self, pairs):
        return [math.nan if "cat" in p.response.text else float(len(p.response.text)) for p in pairs]

@dataclass(frozen=True)
class Short(Metric):
    def score(self, pairs):
        return [1.0]

@dataclass(frozen=True)
class Broken(Metric):
    def score(self, pairs):
        return [1 / 0 for _ in pairs]

@dataclass(frozen=True)
class Wordy(Metric):
    def score(self, pairs):
        return ["good" for _ in pairs]
'''


def test_a_users_metric_is_turned_round_where_less_is_better(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(METRICS)
    system = Measured(f"{tmp_path / 'mine.py'}:Dull")
    assert parse_system(str(system)) == system
    found = system.score(QUESTIONS[:1])[0]
    assert math.isnan(found[0])
    assert found[1:] == [-16.0, -2.0]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Short", "returned 1 value for 3 candidates"),
        ("Broken", "failed: ZeroDivisionError"),
        ("Wordy", "returned 'good'; a score must be a number"),
    ],
)
def test_a_users_metric_that_goes_wrong_is_told_in_a_sentence(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "mine.py").write_text(METRICS)
    with pytest.raises(RejoinderError, match=told):
        Measured(f"{tmp_path / 'mine.py'}:{name}").score(QUESTIONS[:1])


@dataclass(frozen=True)
class Standing(SetMetric):
    """The share of all texts that are shorter: it needs the whole set."""

    def statistic(self, pairs: Any) -> list[Statistic]:
        return [None if pair.response.text == "no" else len(pair.response.text) for pair in pairs]

    def settle(self, rows: Rows) -> list[float]:
        lengths = [row.statistic for row in rows]
        assert None not in lengths
        return [sum(other < length for other in lengths) / len(lengths) for length in lengths]


def test_a_metric_of_the_whole_set_gets_all_candidates_of_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.systems.metric.parse", lambda spec: Standing())
    monkeypatch.setattr("rejoinder.systems.metric._MOST_PAIRS", 2)
    system = Measured("standing")
    asked = QUESTIONS[:2]
    lengths = [len(c.text) for one in asked for c in one.candidates if c.text != "no"]
    found = system.score(asked)
    for one, scores in zip(asked, found, strict=True):
        for candidate, score in zip(one.candidates, scores, strict=True):
            if candidate.text == "no":
                assert math.isnan(score)
            else:
                assert score == sum(n < len(candidate.text) for n in lengths) / len(lengths)
    assert not getattr(system, "alone", True)


# Functions


def written(folder: Path, body: str) -> str:
    (folder / "mine.py").write_text(f"import math\n{body}\n")
    return str(folder / "mine.py")


def test_a_function_gets_plain_lists_and_its_numbers_count(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "def f(context, candidates):\n"
        "    assert type(context) is list and type(candidates) is list\n"
        "    return [len(context) + len(text) for text in candidates]",
    )
    system = parse_system(f"{file}:f")
    assert system == Function(f"{file}:f")
    assert parse_system(str(system)) == system
    assert system.score(QUESTIONS[:1]) == [[16.0, 18.0, 4.0]]


def test_a_function_without_a_name_is_called_score(tmp_path: Path) -> None:
    file = written(tmp_path, "def score(context, candidates):\n    return [1] * len(candidates)")
    assert parse_system(file).score(QUESTIONS[3:4]) == [[1.0]]


def test_a_function_that_goes_by_place_gains_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "def score(context, candidates):\n    return range(len(candidates))")
    forward = question("q", ["hi"], "one", "two", "three", "four")
    backward = question("q", ["hi"], "four", "three", "two", "one")
    assert parse_system(file).score([forward])[0] == parse_system(file).score([backward])[0][::-1]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return [1 / 0 for _ in candidates]", "question q1: ZeroDivisionError: division by zero"),
        ("return [1.0]", "question q1: returned 1 value for 3 candidates"),
        ("return 1.0", "question q1: TypeError"),
        ("return None", "question q1: TypeError"),
        ("return 'abc'", "question q1: returned '[abc]'; a score must be a number"),
        ("return [True] * 3", "question q1: returned True; a score must be a number"),
        ("return [math.inf] * 3", "question q1: returned inf; a score must be a finite number"),
        ("return [[1], [2], [3]]", r"question q1: returned \[\d\]; a score must be a number"),
    ],
)
def test_a_function_that_goes_wrong_is_told_with_its_question(tmp_path: Path, body: str, told: str) -> None:
    file = written(tmp_path, f"def f(context, candidates):\n    {body}")
    with pytest.raises(InputError, match=told):
        Function(f"{file}:f").score(QUESTIONS)


def test_what_a_function_cannot_say_is_nan_and_arrays_will_do(tmp_path: Path) -> None:
    file = written(tmp_path, "def f(context, candidates):\n    return [None, math.nan, 1]")
    assert sorted(map(math.isnan, Function(f"{file}:f").score(QUESTIONS[:1])[0])) == [False, True, True]
    file = written(
        tmp_path, "import numpy\ndef f(context, candidates):\n    return numpy.array([2.5] * len(candidates), 'f4')"
    )
    assert Function(f"{file}:f").score(QUESTIONS[:1]) == [[2.5] * 3]


def test_a_file_that_changes_is_another_system(tmp_path: Path) -> None:
    file = written(tmp_path, "def f(context, candidates):\n    return [1] * len(candidates)")
    system = Function(f"{file}:f")
    before = system_signature(system)
    assert system.score(QUESTIONS[3:4]) == [[1.0]]
    written(tmp_path, "def f(context, candidates):\n    return [2] * len(candidates)")
    assert system.score(QUESTIONS[3:4]) == [[2.0]]
    assert system_signature(system) != before


def test_a_function_that_is_not_there_is_a_users_error(tmp_path: Path) -> None:
    file = written(tmp_path, "def likes(context, candidates):\n    return []")
    with pytest.raises(SpecError, match="has no function 'like'; did you mean 'likes'"):
        Function(f"{file}:like").score(QUESTIONS)
    with pytest.raises(SpecError, match="no such file"):
        Function(f"{tmp_path / 'none.py'}:f").score(QUESTIONS)
    with pytest.raises(SpecError, match=r"path must be FILE\.py:NAME"):
        Function("mine.txt")
    with pytest.raises(SpecError, match="SyntaxError"):
        Function(f"{written(tmp_path, 'def (')}:f").score(QUESTIONS)


# What the docs show


def test_the_examples_of_the_docs_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parent.parent / "docs" / "systems.md").read_text()
    blocks = re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)
    asking, likes, longest = (next(b for b in blocks if word in b) for word in ("answer(", "def likes", "Longest"))
    exec(asking, {})
    assert "tfidf|fit:None" in capsys.readouterr().out
    file = written(tmp_path, likes)
    assert parse_system(f"{file}:likes").answer(["Is it late"], ["it is late", "no"]) == [3.0, 0.0]
    names: dict[str, Any] = {**vars(dataclasses), **vars(systems), **vars(_texts), "Sequence": list}
    exec(longest, names)
    assert names["Longest"](most=4).answer(["Is it late?"], ["it is late", "no"]) == [4.0, 2.0]
