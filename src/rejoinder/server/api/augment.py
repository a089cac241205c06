"""``POST /augment``: items in, items with more references out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.augmentation.augment import augment as augmented
from rejoinder.augmentation.plan import AugmentationPlan, parse_retrieval
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.server.api.records import items_of
from rejoinder.server.api.service import ApiService
from rejoinder.types import Item, Reference

DEFAULT_K = 5


async def augment(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """The references of a request's items, those that came with them first."""
    given = dict(body.get("plan") or {})
    plan = AugmentationPlan(
        desk.corpus,
        parse_retrieval(given.get("retrieval", "bm25")),
        comet=bool(given.get("comet")),
        paraphrase=given.get("paraphrase"),
        k=int(given.get("k", DEFAULT_K)),
        least_aptness=given.get("least_aptness"),
        seed=int(given.get("seed", 0)),
    )
    items = items_of(body["items"])
    found: dict[str, Any] = await desk.do(functools.partial(_augment_batch, plan), items, len(items))
    return found


def _augment_batch(plan: AugmentationPlan, given: list[Sequence[Item]]) -> list[dict[str, Any]]:
    answers = []
    for items in given:
        tally = AugmentationTally()
        made = list(augmented(items, plan, tally=tally))
        told = [_item_object(before, after) for before, after in zip(items, made, strict=True)]
        answers.append({"items": told, "notes": list(dict.fromkeys(tally.notes))})
    return answers


def _item_object(before: Item, after: Item) -> dict[str, Any]:
    return {
        "id": after.id,
        "references": [_reference_object(one) for one in after.references],
        "added": len(after.references) - len(before.references),
    }


def _reference_object(one: Reference) -> dict[str, Any]:
    return {"text": one.text, "source": one.source, "score": one.score, "origin": one.origin}
