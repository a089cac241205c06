"""The rows of ``reproduce modern`` for a model at an endpoint: against a server on loopback that likes long replies."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from judge_server import Handler, completion, forget_endpoints, served

from rejoinder.papers.base import Reproduction, reproduction_tables
from rejoinder.papers.own.modern import endpoint_judge
from rejoinder.papers.own.modern.endpoint_judge import (
    ACCURACY,
    PAIRWISE,
    SINGLE,
    WIN_RATE,
    list_endpoint_figures,
    list_endpoint_notes,
    measure_endpoint_judge,
)
from rejoinder.papers.own.modern.measures import POSITION, PublishedSet, collect_duels
from rejoinder.stats.bootstrap import BootstrapPlan
from tests.test_reproduce_modern import records

FEW = BootstrapPlan(n_resamples=50)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch)
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
    [note] = list_endpoint_notes(again)
    assert "150 LLMBar pairs and 150 PandaLM pairs" in note


def test_without_endpoint_and_answers_the_rows_say_what_to_do() -> None:
    why = measure_endpoint_judge()
    assert isinstance(why, str)
    assert "not measured:" in why
    assert "REJOINDER_JUDGE_URL" in why
    figures = list_endpoint_figures(why, FEW)
    assert all(math.isnan(figure.measured) and figure.note == why for figure in figures)
    assert list_endpoint_notes(why) == [why]
    [table] = reproduction_tables(Reproduction("x", "X", figures))
    assert len(table.rows) == 2
