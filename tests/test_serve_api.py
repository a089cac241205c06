"""The API of ``rejoinder serve``: it says what the library says, and what is wrong in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

import rejoinder
from rejoinder.data.collection import from_lists
from rejoinder.probes.occlusion import explain_pair, make_pair
from rejoinder.server.api.app import VERBS
from rejoinder.server.api.schemas import VALIDATOR, spec_schemas
from rejoinder.systems import parse_system
from tests.serve_site import TOKEN, client_of, house_of, write_lines

BARE = {"context": ["Is it open?"], "reply": "Yes, from ten."}
TALK = {
    "context": ["Hello.", "Is it open on Sunday?"],
    "reply": "Yes, from ten.",
    "references": ["Yes, from ten to five."],
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with client_of(house_of()) as found:
        yield found


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_of_each_verb_is_answered(client: Any, verb: str) -> None:
    answer = client.post(f"/{verb}", json=VERBS[verb].example)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"


def test_scores_are_those_of_the_library(client: Any) -> None:
    specs = ["aptness(model='bi')", "bleu(n=2)", "rouge_l", "length"]
    told = client.post("/score", json={"metrics": specs, "pairs": [TALK, {**TALK, "reply": "Bananas."}]}).json()
    data = from_lists(["Yes, from ten.", "Bananas."], [TALK["context"]] * 2, [TALK["references"]] * 2)
    scores = rejoinder.score(data, specs)
    for spec in specs:
        assert told["scores"][spec] == scores[spec].tolist()
        assert told["metrics"][spec]["signature"] == scores.facts[spec].signature
    assert told["metrics"]["length"]["range"] == [0.0, None]


def test_what_cannot_be_scored_is_null(client: Any) -> None:
    pairs = [{"context": [], "reply": "Yes."}, {"context": ["Well?"], "reply": "  "}]
    told = client.post("/score", json={"metrics": ["context_overlap", "aptness"], "pairs": pairs}).json()
    assert told["scores"] == {"context_overlap": [None, None], "aptness": [None, None]}


def test_a_metric_of_whole_sets_takes_each_request_as_a_set(client: Any) -> None:
    replies = ["I do not know.", "I do not know.", "The shop is open."]
    pairs = [{"context": ["Well?"], "reply": reply} for reply in replies]
    told = client.post("/score", json={"metrics": ["self_bleu"], "pairs": pairs}).json()
    expected = rejoinder.score(from_lists(replies, [["Well?"]] * 3), "self_bleu")
    assert told["scores"]["self_bleu"] == expected["self_bleu"].tolist()


def test_matched_references_are_told_where_asked(client: Any) -> None:
    pair = {**TALK, "references": ["Bananas are yellow.", "Yes, from ten."]}
    told = client.post("/score", json={"metrics": ["bleu"], "pairs": [pair], "matched": True}).json()
    assert told["matched"] == {"bleu": [1]}


def test_ranking_is_that_of_the_system(client: Any) -> None:
    asked = VERBS["rank"].example
    told = client.post("/rank", json=asked).json()
    assert told["order"] == sorted(range(3), key=lambda n: -told["scores"][n])
    alone = parse_system("tfidf").answer(asked["context"], asked["candidates"])
    assert len(told["scores"]) == len(alone)
    assert told["system"] == "tfidf"


def test_without_a_system_the_default_ranks(client: Any) -> None:
    told = client.post("/rank", json={"context": ["Is it open?"], "candidates": ["It is open."], "used": True}).json()
    assert told["system"].partition("(")[0] in ("ranker", "tfidf")
    assert told["order"] == [0]


def test_selection_gives_accuracies_and_choices(client: Any) -> None:
    question = {**VERBS["select"].example["questions"][0], "id": "q"}
    told = client.post("/select", json={"systems": ["tfidf", "length(unit='words')"], "questions": [question]})
    assert told.status_code == 404  # a length says nothing about good and bad
    told = client.post("/select", json={"systems": ["tfidf"], "questions": [question]}).json()
    assert told["chance"] == 0.5
    assert told["questions"][0]["right"] == [0]
    assert told["systems"][0]["answered"] == 1


def test_augmenting_keeps_what_came_first_and_says_where_the_rest_is_from(client: Any) -> None:
    told = client.post("/augment", json=VERBS["augment"].example).json()["items"][0]
    assert told["references"][0] == {
        "text": "Yes, it is open from ten.", "source": "human", "score": None, "origin": None
    }  # fmt: skip
    assert told["added"] == len(told["references"]) - 1 > 0
    assert {one["source"] for one in told["references"][1:]} == {"paraphrase"}


def test_augmenting_retrieves_from_the_corpus_of_the_server(tmp_path: Path) -> None:
    turns = ["Is the library open on Sunday?", "It opens at ten on Sundays.", "Thank you very much."]
    lines = [{"kind": "dialogue", "id": f"d{n}", "turns": [f"{turn} {n}" for turn in turns]} for n in range(6)]
    corpus = write_lines(tmp_path / "corpus.jsonl", lines)
    with client_of(house_of(corpus=str(corpus))) as client:
        items = [{"context": ["Is the library open on Sunday?"], "references": ["Yes."]}]
        told = client.post("/augment", json={"items": items, "plan": {"k": 2}})
    assert told.status_code == 200, told.text
    assert {one["source"].partition("/")[0] for one in told.json()["items"][0]["references"][1:]} == {"retrieval"}


def test_trying_says_what_each_metric_matched_and_why_one_has_no_score(client: Any) -> None:
    names = ["context_overlap", "bleu", "judge(model='nobody')"]
    told = client.post("/try", json={**TALK, "metrics": names}).json()["metrics"]
    assert [one["metric"] for one in told] == names
    assert told[0]["turn"] == 1
    assert told[1]["reference"] == 0
    assert "uses the owner's endpoint" in told[2]["error"]


def test_a_pair_without_what_a_metric_needs_has_no_score_beside_others_that_have_it(client: Any) -> None:
    told = client.post("/score", json={"metrics": ["bleu"], "pairs": [BARE, TALK]})
    assert told.status_code == 200
    assert told.json()["scores"]["bleu"][0] is None
    assert told.json()["scores"]["bleu"][1] > 0


def test_an_explanation_is_that_of_the_library(client: Any) -> None:
    told = client.post("/explain", json={**TALK, "metric": "bleu"}).json()
    found = explain_pair("bleu", make_pair(TALK["context"], str(TALK["reply"]), TALK["references"]))
    assert told["score"] == found.score
    assert [one["text"] for one in told["costly"]] == [one.text for one in found.costly(5)]


def test_attacks_stand_beside_the_reply(client: Any) -> None:
    told = client.post("/attack", json={**TALK, "metric": "context_overlap"}).json()["trials"]
    assert told[0]["kind"] == "true"
    assert told[0]["lead"] == 0
    assert {"copy", "copy_earlier", "reversed", "case"} <= {one["name"] for one in told}


@pytest.mark.parametrize(
    ("verb", "change", "status", "sentence"),
    [
        ("score", {"metrics": ["blue"]}, 404, "no metric 'blue'; did you mean 'bleu'"),
        ("score", {"metrics": ["bleu(n=0)"]}, 404, "bleu"),
        ("score", {"metrics": []}, 422, "metrics has 0 entries; it must have at least 1"),
        ("score", {"pairs": [{"reply": "x"}]}, 422, "pairs[0] has no 'context'"),
        ("score", {"pairs": [{"context": [" "], "reply": "x"}]}, 422, "pairs[0].context[0] is blank"),
        ("score", {"pairs": [{"context": [3], "reply": "x"}]}, 422, "is a whole number; it must be a string or an obj"),
        ("score", {"extra": 1}, 422, "unknown key 'extra'"),
        ("score", {"metrics": ["length", "bleu"], "pairs": [BARE]}, 409, "bleu needs references, which no pair has"),
        ("score", {"metrics": ["aptness"], "pairs": [{**BARE, "context": []}]}, 409, "aptness needs context"),
        ("rank", {"candidates": []}, 422, "candidates has 0 entries"),
        ("rank", {"system": "nobody"}, 404, "no system or metric 'nobody'"),
        ("select", {"questions": [{"context": [], "candidates": [{"text": "a", "grade": 1}] * 2}]}, 409, "same grade"),
        ("augment", {"plan": {"k": -1}}, 422, "plan.k is -1"),
        ("augment", {"plan": {"retrieval": "none"}}, 409, "no source of references"),
        ("explain", {"metric": "bleu", "references": []}, 409, "needs references"),
        ("explain", {"reply": " "}, 422, "reply is blank"),
        ("attack", {"metric": "self_bleu"}, 404, "computed over a whole set"),
        ("explain", {"metric": "judge"}, 409, "use the command: rejoinder explain"),
    ],
)
def test_what_is_wrong_is_one_sentence(client: Any, verb: str, change: Any, status: int, sentence: str) -> None:
    answer = client.post(f"/{verb}", json={**VERBS[verb].example, **change})
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert sentence in answer.json()["error"]


def test_a_model_that_is_not_here_is_a_conflict_that_says_how_to_get_it(client: Any) -> None:
    answer = client.post("/score", json={"metrics": ["embedding_average"], "pairs": [TALK]})
    assert answer.status_code == 409
    assert "rejoinder models get glove-6b-50d" in answer.json()["error"]


def test_health_needs_no_token_and_all_else_does(client: Any) -> None:
    with client_of(house_of(), token=None) as stranger:
        assert stranger.get("/health").json() == {"status": "ok", "version": rejoinder.__version__}
        for path in ("/metrics", "/openapi.json", "/runs", "/models"):
            refused = stranger.get(path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
        assert stranger.post("/score", json=VERBS["score"].example).status_code == 401
    with client_of(house_of(), token=TOKEN[:-1]) as stranger:
        assert stranger.post("/score", json=VERBS["score"].example).status_code == 401
    assert client.get("/health").status_code == 200


def test_the_counts_are_read_by_prometheus(client: Any) -> None:
    client.post("/score", json=VERBS["score"].example)
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert re.search(r'^rejoinder_requests_total\{path="/score",method="POST",status="200"\} \d+$', answer.text, re.M)
    for line in answer.text.splitlines():
        assert line.startswith("# ") or re.fullmatch(r'\w+(\{(\w+="[^"\n]*",?)+\})? [0-9.e+-]+', line), line


def test_methods_that_a_path_does_not_have_are_refused(client: Any) -> None:
    for method, path, allowed in (("GET", "/score", "POST"), ("DELETE", "/try", "GET"), ("PUT", "/health", "GET")):
        refused = client.request(method, path)
        assert refused.status_code == 405
        assert allowed in refused.headers["allow"]
        assert list(refused.json()) == ["error"]
    head = client.head("/health")
    assert (head.status_code, head.content) == (200, b"")


def test_the_description_names_every_path_and_its_examples_are_valid(client: Any) -> None:
    told = client.get("/openapi.json").json()
    assert told["openapi"] == "3.1.0"
    wanted = {f"/{verb}" for verb in VERBS} | {"/health", "/metrics", "/runs/{run}", "/models/{model}/get"}
    assert wanted <= set(told["paths"])
    specs = spec_schemas(["bleu"], ["tfidf"])
    for verb in VERBS.values():
        assert VALIDATOR.problem(verb.request(*specs), verb.example) is None
    references = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(told)))
    assert references <= set(told["components"]["schemas"])
