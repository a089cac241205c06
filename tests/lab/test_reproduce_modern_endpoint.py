"""The rows of ``reproduce modern`` for a model at an endpoint: against a server on loopback that likes long replies."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from judge_server import Handler, completion, forget_endpoints, served
from rejoinder_lab.papers.base import Reproduction, reproduction_tables
from rejoinder_lab.papers.own.modern import endpoint_judge
from rejoinder_lab.papers.own.modern.endpoint_judge import (
    ACCURACY,
    EXPECTED,
    MODEL,
    PAIRWISE,
    SINGLE,
    WIN_RATE,
    list_endpoint_figures,
    list_endpoint_notes,
    measure_endpoint_judge,
    read_small_verdicts,
)
from rejoinder_lab.papers.own.modern.measures import POSITION, PublishedSet, collect_duels
from rejoinder_lab.papers.own.modern.modern import list_requests

from rejoinder.cli import program
from rejoinder.errors import InputError
from rejoinder.stats.bootstrap import BootstrapPlan
from tests.lab.test_reproduce_modern import records

FEW = BootstrapPlan(n_resamples=50)
PACKAGED = {name: getattr(endpoint_judge, name) for name in ("STORED", "PAIRS", "LABELS", "read_duels")}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_endpoints(monkeypatch)
    monkeypatch.setattr(endpoint_judge, "STORED", tmp_path / "none.json")
    monkeypatch.setattr(endpoint_judge, "PAIRS", 150)
    monkeypatch.setattr(endpoint_judge, "LABELS", 75)
    monkeypatch.setattr(endpoint_judge, "read_duels", read)


def read(one: PublishedSet) -> Any:
    return collect_duels(one.name, records(), one.has_systems)


def likes_words(handler: Handler, sent: dict[str, Any]) -> None:
    """Rate a reply by its words, and choose the longer one of two."""
    lengths = [found.count("word") for found in re.findall(r'"(?:[^"\\]*\bword\b[^"\\]*)"', _prompt(sent))]
    if len(lengths) == 2:
        better = "tie" if lengths[0] == lengths[1] else "first" if lengths[0] > lengths[1] else "second"
        handler.give(200, completion(json.dumps({"better": better, "reason": "longer"})))
    else:
        handler.give(200, completion(json.dumps({"score": min(5, 1 + lengths[0] // 3), "reason": "so long"})))


def _prompt(sent: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in sent["messages"])


def test_a_judge_at_an_endpoint_is_measured_and_its_answers_are_enough_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served(likes_words) as server:
        monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
        judged = measure_endpoint_judge()
        assert not isinstance(judged, str)
        assert all("response_format" not in sent and sent["max_tokens"] == 80 for sent in server.sent)
    monkeypatch.delenv("REJOINDER_JUDGE_URL")
    again = measure_endpoint_judge()
    assert not isinstance(again, str)
    figures = list_endpoint_figures(again, FEW)
    assert figures == list_endpoint_figures(judged, FEW)
    by_place = {(f.table, f.row, f.column): f for f in figures}
    pairs = by_place[ACCURACY, PAIRWISE, "PandaLM"]
    assert pairs.measured > 0.85  # people here prefer longer replies too
    assert pairs.measured >= by_place[ACCURACY, SINGLE, "PandaLM"].measured - 0.1
    assert by_place[ACCURACY, PAIRWISE, "LLMBar"].n
    assert by_place[POSITION, PAIRWISE, "PandaLM: same choice in both orders"].measured == 1.0
    rates = {f.row: f for f in figures if f.table == WIN_RATE}
    assert set(rates) == {"labels alone", "judge alone", "labels and judge", "all labels"}
    both, alone = rates["labels and judge"], rates["labels alone"]
    assert both.high is not None
    assert both.low is not None
    assert alone.high is not None
    assert alone.low is not None
    assert both.high - both.low <= alone.high - alone.low
    assert both.low <= rates["all labels"].measured <= both.high
    # This server returns no log-probabilities, so the expected scores are the written ones.
    assert by_place[ACCURACY, EXPECTED, "PandaLM"].measured == by_place[ACCURACY, SINGLE, "PandaLM"].measured
    notes = list_endpoint_notes(again, figures)
    assert "150 LLMBar pairs and 150 PandaLM pairs" in notes[0]
    assert "makes the same choice in both orders in 100% of 150 pairs" in notes[1]
    assert "the longer reply on LLMBar (the sample of the judge at an endpoint)" in notes[2]


def test_without_endpoint_and_answers_the_rows_say_what_to_do() -> None:
    why = measure_endpoint_judge()
    assert isinstance(why, str)
    assert "not measured:" in why
    assert "REJOINDER_JUDGE_URL" in why
    figures = list_endpoint_figures(why, FEW)
    assert all(math.isnan(figure.measured) and figure.note == why for figure in figures)
    assert list_endpoint_notes(why) == [why]
    [table] = reproduction_tables(Reproduction("x", "X", figures))
    assert [row[0] for row in table.rows] == [SINGLE, EXPECTED, PAIRWISE]


def likely_tokens(content: str) -> list[dict[str, Any]]:
    """The tokens of an answer with a score: it is twice as probable as the next lower one, and nothing else is."""
    before, digit, after = re.split(r"(\d)", content, maxsplit=1)
    lower = {"token": str(int(digit) - 1), "logprob": math.log(1 / 3)}
    score = {"token": digit, "logprob": math.log(2 / 3)}
    return [
        {"token": before, "logprob": 0.0},
        {**score, "top_logprobs": [score, lower]},
        {"token": after, "logprob": 0.0},
    ]


def answer_batch(lines: list[bytes]) -> list[dict[str, Any]]:
    """What a server elsewhere makes of the requests: the same answers, and one that cannot be read."""
    answers = []
    for number, line in enumerate(lines):
        request = json.loads(line)
        given: list[bytes] = []
        handler: Any = SimpleNamespace(give=lambda status, body, given=given: given.append(body))
        likes_words(handler, request["body"])
        body = json.loads(given[0])
        [choice] = body["choices"]
        if number == 0:
            choice["message"]["content"] = "Hard to say."
        elif "score" in choice["message"]["content"]:
            choice["logprobs"] = {"content": likely_tokens(choice["message"]["content"])}
        answers.append({"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}})
    return answers


def test_requests_are_answered_elsewhere_and_the_verdicts_rebuild_the_figures(tmp_path: Path) -> None:
    lines = list(list_requests())
    first = json.loads(lines[0])
    assert first["url"] == "/v1/chat/completions"
    assert first["body"]["model"] == MODEL
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(answer) + "\n" for answer in answer_batch(lines)))
    verdicts = read_small_verdicts(answers)
    assert list(verdicts.values.values()).count(None) == 1
    assert verdicts.models == ["test-1"]
    scores = {key: value for key, value in verdicts.values.items() if isinstance(value, float)}
    lowest = verdicts.asked.judge.rubric.low  # there is no level below it, so its weight is all
    assert verdicts.expected == {
        key: pytest.approx(value - (value > lowest) / 3, abs=1e-6) for key, value in scores.items()
    }
    judged = measure_endpoint_judge(verdicts=verdicts)
    assert not isinstance(judged, str)
    # The file of verdicts has no text, and gives the same figures.
    stored = tmp_path / "verdicts.json"
    stored.write_text(verdicts.to_json())
    assert "word" not in stored.read_text().replace("wording", "")
    again = measure_endpoint_judge(verdicts=read_small_verdicts(stored))
    assert not isinstance(again, str)
    assert list_endpoint_figures(again, FEW) == list_endpoint_figures(judged, FEW)


def test_answers_that_do_not_cover_the_requests_are_refused(tmp_path: Path) -> None:
    lines = list(list_requests())
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answer_batch(lines)[3:]))
    with pytest.raises(InputError, match=f"3 of {len(lines):,} requests have no answer"):
        read_small_verdicts(file)
    file.write_text("not JSON\n")
    with pytest.raises(InputError, match="line 1: is not an answer of a batch"):
        read_small_verdicts(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_small_verdicts(tmp_path / "nothing")


def test_the_command_writes_the_requests(tmp_path: Path) -> None:
    done = CliRunner().invoke(program, ["reproduce", "modern", "--requests", str(tmp_path / "requests.jsonl")])
    assert done.exit_code == 0, done.output
    assert len((tmp_path / "requests.jsonl").read_bytes().splitlines()) == len(list(list_requests()))
    other = CliRunner().invoke(program, ["reproduce", "idk", "--requests", str(tmp_path / "other.jsonl")])
    assert "asks no judge at an endpoint" in str(other.exception)
    assert "leave out the parameter answers" in str(
        CliRunner().invoke(program, ["reproduce", "idk", "--answers", str(tmp_path / "requests.jsonl")]).exception
    )


def test_the_verdicts_of_the_package_answer_every_request(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PACKAGED.items():
        monkeypatch.setattr(endpoint_judge, name, value)
    found = read_small_verdicts(endpoint_judge.STORED)
    assert list(found.values) == [json.loads(line)["custom_id"] for line in list_requests()]
    assert found.models == [MODEL]
    low, high = found.asked.judge.rubric.low, found.asked.judge.rubric.high
    assert all(low <= score <= high for score in found.expected.values())
