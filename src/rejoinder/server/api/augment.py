"""``POST /augment``: items in, items with more references out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.augmentation.augment import augment as augment_items
from rejoinder.augmentation.plan import AugmentationPlan, parse_retrieval
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.server.api.endpoint import Verb
from rejoinder.server.api.limits import ROWS
from rejoinder.server.api.records import items_of
from rejoinder.server.api.schemas import COUNT, FIGURE, NOTE, SEED, STRING, array_of, object_of, reference
from rejoinder.server.api.service import ApiService
from rejoinder.types import Item, Reference

DEFAULT_K = 5


async def answer_augment(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Give items more references."""
    options = dict(body.get("plan") or {})
    plan = AugmentationPlan(
        service.corpus,
        parse_retrieval(options.get("retrieval", "bm25")),
        comet=bool(options.get("comet")),
        paraphrase=options.get("paraphrase"),
        k=int(options.get("k", DEFAULT_K)),
        least_aptness=options.get("least_aptness"),
        seed=int(options.get("seed", 0)),
    )
    items = items_of(body["items"])
    answer: dict[str, Any] = await service.do(functools.partial(_augment_batch, plan), items, len(items))
    return answer


def _augment_batch(plan: AugmentationPlan, requests: list[Sequence[Item]]) -> list[dict[str, Any]]:
    answers = []
    for items in requests:
        tally = AugmentationTally()
        augmented = list(augment_items(items, plan, tally=tally))
        objects = [_item_object(before, after) for before, after in zip(items, augmented, strict=True)]
        answers.append({"items": objects, "notes": list(dict.fromkeys(tally.notes))})
    return answers


def _item_object(before: Item, after: Item) -> dict[str, Any]:
    return {
        "id": after.id,
        "references": [_reference_object(one) for one in after.references],
        "added": len(after.references) - len(before.references),
    }


def _reference_object(reference: Reference) -> dict[str, Any]:
    return {"text": reference.text, "source": reference.source, "score": reference.score, "origin": reference.origin}


_PLAN = object_of(
    (),
    k={"type": "integer", "minimum": 0, "maximum": 100, "default": DEFAULT_K},
    retrieval={"enum": ["bm25", "dense", "hybrid", "none"], "type": "string", "default": "bm25"},
    paraphrase={"enum": ["rewording", None], "type": ["string", "null"]},
    comet={"type": "boolean", "default": False},
    least_aptness={"type": ["number", "null"], "minimum": 0, "maximum": 1},
    seed=SEED,
)
_REFERENCE = object_of(text=STRING, source=STRING, score=FIGURE, origin=NOTE)
AUGMENT = Verb(
    "augment",
    request=lambda metric, system: object_of(("items",), items=array_of(reference("Item"), ROWS // 10, 1), plan=_PLAN),
    answer=object_of(
        items=array_of(object_of(id=STRING, references=array_of(_REFERENCE), added=COUNT)),
        notes=array_of(STRING),
    ),
    example={
        "items": [{"context": ["Is it open on Sunday?"], "references": ["Yes, it is open from ten."]}],
        "plan": {"k": 3, "retrieval": "none", "paraphrase": "rewording"},
    },
    respond=answer_augment,
)
