"""The Try page: a conversation and a reply, as they were typed or as they stand in a run."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from rejoinder.metric import metric_class
from rejoinder.server.api.response_schemas import EXAMPLES
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.replies import RunResponses, conversation_object
from rejoinder.server.pages.runs import load_findings


async def try_page(house: PageContext, request: Request, query: Query) -> PageContent:
    """The metrics that can be tried, and a conversation to begin with."""
    begun = await _conversation_from_run(house, query) if "run" in query else _example_conversation()
    offered = [_metric_object(name) for name in house.desk.offer.metrics]
    return PageContent("try.html", {"metrics": offered, **begun})


def _example_conversation() -> dict[str, Any]:
    given = EXAMPLES["score"]["pairs"][0]
    return {"context": given["context"], "reply": given["reply"], "references": given["references"], "from": None}


async def _conversation_from_run(house: PageContext, query: Query) -> dict[str, Any]:
    name = query["run"]
    found = conversation_object(RunResponses(await load_findings(house, name)), query.get("reply", 0))
    said = next(one for one in found["replies"] if one["here"])
    return {
        "context": found["context"],
        "reply": said["text"],
        "references": [one["text"] for one in found["references"]],
        "from": {"run": name, "reply": found["reply"], "system": said["system"]},
    }


def _metric_object(name: str) -> dict[str, Any]:
    cls = metric_class(name.partition("(")[0])
    about = (cls.__doc__ or "").strip().partition("\n")[0]
    return {"metric": name, "quick": not cls.large, "needs": sorted(cls.needs), "about": about}
