"""Batching: what comes together is computed together, nobody pays for others, and nothing is taken on without end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("starlette")

from rejoinder.errors import InputError
from rejoinder.metric import parse
from rejoinder.server.api.batching import BatchQueue, QueueFullError
from rejoinder.server.api.limits import LoadLimits
from rejoinder.server.api.score import answer_score
from rejoinder.server.api.service import ApiService
from rejoinder.systems import parse_system


class Work:
    """Doubles numbers, slowly; remembers what it was given, and on which thread."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.given: list[list[int]] = []
        self.threads: set[str] = set()
        self._seconds = seconds

    def __call__(self, given: list[int]) -> Sequence[int]:
        self.given.append(list(given))
        self.threads.add(threading.current_thread().name)
        time.sleep(self._seconds)
        if -1 in given:
            raise InputError("minus one")
        return [2 * number for number in given]


def run(work: Any) -> Any:
    """Run something asynchronous to its end."""
    return asyncio.run(work)


def test_one_request_begins_at_once_and_alone() -> None:
    async def ask() -> int:
        lane, work = BatchQueue("a", LoadLimits()), Work()
        found = [await lane.ask("key", n, 1, work) for n in range(3)]
        assert found == [0, 2, 4]
        return len(work.given)

    assert run(ask()) == 3


def test_what_waits_is_computed_in_one_call() -> None:
    async def ask() -> Work:
        lane, work = BatchQueue("a", LoadLimits()), Work()
        found = await asyncio.gather(*(lane.ask("key", n, 1, work) for n in range(30)))
        assert found == [2 * n for n in range(30)]
        return work

    work = run(ask())
    assert len(work.given) <= 2
    assert len(work.threads) == 1
    assert next(iter(work.threads)).startswith("rejoinder-a")


def test_clients_that_come_back_together_stay_together() -> None:
    async def client(lane: BatchQueue, work: Work, spread: float) -> None:
        for n in range(5):
            await asyncio.sleep(spread)
            await lane.ask("key", n, 1, work)

    async def ask() -> Work:
        lane, work = BatchQueue("a", LoadLimits()), Work(0.05)
        await asyncio.gather(*(client(lane, work, n / 10_000) for n in range(20)))
        return work

    assert len(run(ask()).given) <= 12  # of a hundred requests; alone each would be one


def test_different_keys_are_never_mixed() -> None:
    async def ask() -> tuple[Work, Work]:
        lane, first, second = BatchQueue("a", LoadLimits()), Work(), Work()
        asked = [lane.ask(key, n, 1, work) for n in range(5) for key, work in (("a", first), ("b", second))]
        await asyncio.gather(*asked)
        return first, second

    for work in run(ask()):
        assert sorted(n for batch in work.given for n in batch) == [0, 1, 2, 3, 4]


def test_one_bad_request_fails_alone() -> None:
    async def ask() -> list[Any]:
        lane, work = BatchQueue("a", LoadLimits()), Work(0.0)
        return await asyncio.gather(*(lane.ask("key", n, 1, work) for n in (1, -1, 3)), return_exceptions=True)

    first, second, third = run(ask())
    assert (first, third) == (2, 6)
    assert isinstance(second, InputError)


def test_more_than_the_lane_takes_on_is_refused_and_the_rest_is_answered() -> None:
    async def ask() -> list[Any]:
        lane, work = BatchQueue("a", LoadLimits(queued=10)), Work()
        return await asyncio.gather(*(lane.ask("key", n, 3, work) for n in range(9)), return_exceptions=True)

    found = run(ask())
    refused = [one for one in found if isinstance(one, QueueFullError)]
    assert refused
    assert len(refused) < 9
    assert [one for one in found if one not in refused] == [2 * n for n in range(9 - len(refused))]


def test_what_nobody_waits_for_any_more_is_not_computed() -> None:
    async def ask() -> Work:
        lane, work = BatchQueue("a", LoadLimits()), Work(0.1)
        first = asyncio.create_task(lane.ask("key", 1, 1, work))
        await asyncio.sleep(0.03)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(lane.ask("key", 2, 1, work), 0.03)
        await first
        await asyncio.sleep(0.05)
        assert lane.queued == 0
        return work

    assert run(ask()).given == [[1]]


def test_a_batch_stays_within_its_rows() -> None:
    async def ask() -> Work:
        lane, work = BatchQueue("a", LoadLimits(batch=10)), Work()
        await asyncio.gather(*(lane.ask("key", n, 4, work) for n in range(6)))
        return work

    assert max(len(batch) for batch in run(ask()).given) == 2


def test_several_threads_share_what_waits() -> None:
    async def ask() -> Work:
        lane, work = BatchQueue("a", LoadLimits(), threads=2), Work(0.05)
        await asyncio.gather(*(lane.ask("key", n, 1, work) for n in range(24)))
        return work

    work = run(ask())
    assert len(work.threads) == 2
    assert max(len(batch) for batch in work.given) <= 12


def test_what_many_score_at_once_is_scored_in_few_calls_and_right() -> None:
    async def ask() -> tuple[list[Any], int]:
        desk = ApiService()
        pairs = [{"context": ["Well?"], "reply": " ".join(["word"] * n)} for n in range(1, 33)]
        asked = [answer_score(desk, {"metrics": ["length"], "pairs": [pair]}) for pair in pairs]
        found = await asyncio.gather(*asked)
        desk.close()
        return [one["scores"]["length"] for one in found], desk.queues["metrics"].batches

    found, batches = run(ask())
    assert found == [[float(n)] for n in range(1, 33)]
    assert batches <= 3


@pytest.mark.parametrize(
    ("spec", "lane"),
    [
        ("aptness", "networks"), ("bleu", "metrics"), ("judge", "models"), ("ssrem", "metrics"),
        ("with_references(metric='bertscore')", "models"), ("with_references(metric='bleu')", "metrics"),
    ],
)  # fmt: skip
def test_a_metric_says_of_itself_in_which_lane_it_is_asked(spec: str, lane: str) -> None:
    assert ApiService().queue_name(parse(spec)) == lane


def test_a_system_says_of_itself_in_which_lane_it_is_asked_and_whether_it_is_offered() -> None:
    service = ApiService()
    assert service.queue_name(parse_system("embedded")) == "models"
    assert service.queue_name(parse_system("judge")) == "models"
    assert service.queue_name(parse_system("tfidf")) == "metrics"
    assert not {"chat", "completion", "function", "generator"} & set(service.offer.systems)
    assert {"causal", "embedded", "metric", "ranker", "seq2seq", "tfidf"} <= set(service.offer.systems)
