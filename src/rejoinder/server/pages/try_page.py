"""The Try page: a conversation and a reply, as an example or from a run."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from rejoinder.metric import metric_class
from rejoinder.server.api.score import SCORE
from rejoinder.server.api.specs import is_large_spec
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.replies import find_conversation


async def try_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Return the metrics that can be tried, and a conversation to start with."""
    conversation = await _conversation_from_run(context, query) if "run" in query else _example_conversation()
    metrics = [_metric_object(name) for name in context.service.offer.metrics]
    metrics.sort(key=lambda one: list(_GROUPS.values()).index(one["group"]))
    return PageContent("try.html", {"metrics": metrics, **conversation})


def _example_conversation() -> dict[str, Any]:
    pair = SCORE.example["pairs"][0]
    return {"context": pair["context"], "reply": pair["reply"], "references": pair["references"], "from": None}


async def _conversation_from_run(context: PageContext, query: Query) -> dict[str, Any]:
    name = query["run"]
    conversation = await find_conversation(context, name, query.get("reply", 0))
    response = next(response for response in conversation["replies"] if response["here"])
    return {
        "context": conversation["context"],
        "reply": response["text"],
        "references": [response["text"] for response in conversation["references"]],
        "from": {"run": name, "reply": conversation["reply"], "system": response["system"]},
    }


_GROUPS = {
    "conversation": "Does it fit the conversation?",
    "references": "Is it like the known good replies?",
    "reply": "The reply by itself",
}
_DIRECTIONS = {True: "higher is better", False: "lower is better", None: "describes only"}


def _metric_object(name: str) -> dict[str, Any]:
    cls = metric_class(name.partition("(")[0])
    about = (cls.__doc__ or "").strip().partition("\n")[0].replace("``", "'")
    group = "references" if "references" in cls.needs else "conversation" if "context" in cls.needs else "reply"
    return {
        "metric": name,
        "quick": not is_large_spec(name),
        "needs": sorted(cls.needs),
        "about": about,
        "group": _GROUPS[group],
        "direction": _DIRECTIONS[cls.higher_is_better],
    }
