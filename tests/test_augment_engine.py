"""Augmentation by several workers: the same items, the same counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rejoinder.augmentation.augment import augment_records
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.augmentation.worker import augmentation_plan_from_values, explain_local_augmentation
from rejoinder.data.objects import to_object
from rejoinder.engines.local import LocalEngine
from rejoinder.types import Item, Record, Reference, Response, Turn

WORDS = "bread milk train lamp river chair piano garden letter window".split()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "talks.jsonl"
    lines = [
        {"id": f"d{n}", "turns": [{"speaker": s, "text": t} for s, t in (
            ("A", f"Where did you put the {WORDS[n % 10]}?"), ("B", f"The {WORDS[n % 10]} is near the {WORDS[n % 7]}."),
            ("A", f"Thanks, I like that {WORDS[n % 3]}."))]}
        for n in range(60)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def records() -> list[Record]:
    found: list[Record] = []
    for n in range(80):
        context = (Turn(f"Where is the {WORDS[n % 10]}?", "A"),)
        found.append(Item(f"i{n}", context, (Reference(f"The {WORDS[n % 10]} is here."),)))
        found.append(Response(f"r{n}", f"i{n}", "mine", "I do not know."))
    return found


def test_workers_give_what_one_process_gives(corpus: Path) -> None:
    plan = AugmentationPlan(corpus=str(corpus), comet=False, k=3)
    made, tallies = [], []
    for workers in (1, 2):
        tally = AugmentationTally()
        found = list(augment_records(records(), plan, tally=tally, engine=LocalEngine(workers)))
        made.append([to_object(record) for record in found])
        tallies.append(tally.plain())
    assert made[0] == made[1]
    assert tallies[0] == tallies[1]
    assert tallies[0]["items"] == 80
    assert any(len(one.get("references", ())) > 1 for one in made[0])


def test_a_plan_survives_plain_values(corpus: Path) -> None:
    import dataclasses

    for plan in (AugmentationPlan(), AugmentationPlan(corpus=str(corpus), retrieval=None, knowledge=("a", "b"), k=7)):
        assert augmentation_plan_from_values(json.loads(json.dumps(dataclasses.asdict(plan)))) == plan


def test_what_cannot_be_shared_stays_here_and_says_so() -> None:
    said: list[str] = []
    found = list(augment_records(records()[:4], AugmentationPlan(comet=False, k=1), said.append, engine=LocalEngine(2)))
    assert len(found) == 4
    assert "so one process computes all of them" in said[0]
    assert "adapted" in str(explain_local_augmentation(AugmentationPlan(corpus="x", adapt=5)))
    assert explain_local_augmentation(AugmentationPlan(corpus="x")) is None
