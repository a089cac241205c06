"""What the data offers to be judged, before it becomes units: contexts with the replies that go on one page."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rejoinder.annotation.form import FORMS, Shows
from rejoinder.annotation.order import draw, shuffled
from rejoinder.annotation.project import Project
from rejoinder.data.collection import Collection
from rejoinder.types import Item, Question, Statement, Turn


@dataclass(frozen=True, slots=True)
class Reply:
    """A text that is shown, the id that a rating of it names, and who said it.

    ``made`` says that the id is ours: the data has the text, but not as a response (a candidate, a reference).
    """

    text: str
    response: str
    system: str
    made: bool = False

    def __str__(self) -> str:
        return self.response


@dataclass(frozen=True, slots=True)
class Draft:
    """A context, what is known around it, and the replies to it that are shown together."""

    item: str
    context: tuple[Turn, ...]
    replies: tuple[Reply, ...] = ()
    goal: str = ""
    situation: tuple[Statement, ...] = ()
    initial: Mapping[str, str] = field(default_factory=dict, hash=False)


def drafts_of(project: Project, collection: Collection) -> Iterator[Draft]:
    """What a project's form can show of its data."""
    return _DRAFTS[FORMS[project.form].shows](project, collection)


def _about(item: Item | Question) -> Draft:
    goal = item.meta.get("goal")
    return Draft(item.id, item.context, goal=goal if isinstance(goal, str) else "", situation=item.situation)


def _in_parts(project: Project, draft: Draft, replies: list[Reply]) -> Iterator[Draft]:
    """The replies in a drawn order, so many on a page."""
    size = project.replies_per_unit or len(replies) or 1
    drawn: list[Reply] = shuffled(replies, project.seed, "replies")
    for start in range(0, len(drawn), size):
        yield replace(draft, replies=tuple(drawn[start : start + size]))


def _by_item(collection: Collection) -> dict[str, list[Reply]]:
    found: dict[str, list[Reply]] = {}
    for response in collection.responses.values():
        found.setdefault(response.item, []).append(Reply(response.text, response.id, response.system))
    return found


def _responses(project: Project, collection: Collection) -> Iterator[Draft]:
    for item, replies in _by_item(collection).items():
        yield from _in_parts(project, _about(collection.items[item]), replies)


def _candidates(project: Project, collection: Collection) -> Iterator[Draft]:
    for question in collection.questions.values():
        replies = [
            Reply(c.text, f"{question.id}/{c.id or n}", c.source or "candidate", True)
            for n, c in enumerate(question.candidates)
        ]
        yield from _in_parts(project, _about(question), replies)
    yield from _responses(project, collection)


def _references(project: Project, collection: Collection, only_added: bool = False) -> Iterator[Draft]:
    for item in collection.items.values():
        # By its text, since a reference has no id, and its place may change.
        replies = {
            r.text: Reply(r.text, f"{item.id}/reference/{draw(r.text):016x}", r.source, True)
            for r in item.references
            if not only_added or r.source != "human"
        }
        yield from _in_parts(project, _about(item), list(replies.values()))


def _added(project: Project, collection: Collection) -> Iterator[Draft]:
    return _references(project, collection, only_added=True)


def _items(project: Project, collection: Collection) -> Iterator[Draft]:
    for item in collection.items.values():
        draft = _about(item)
        if project.form != "situation":
            yield draft
            continue
        draft = replace(draft, situation=(), initial=_initial(project, item))
        if not item.references:
            yield draft
        for one in _references(project, Collection(items={item.id: item})):
            yield replace(draft, replies=one.replies)


def _initial(project: Project, item: Item) -> dict[str, str]:
    """The statements that are there already, each in the field of its category; one without goes into the last."""
    names = [aspect.name for aspect in project.aspects]
    lines: dict[str, list[str]] = {}
    for statement in item.situation:
        name = statement.category if statement.category in names else names[-1]
        lines.setdefault(name, []).append(" ".join(statement.text.split()))
    return {name: "\n".join(texts) for name, texts in lines.items()}


def _pairs(project: Project, collection: Collection) -> Iterator[Draft]:
    for item, replies in _by_item(collection).items():
        pairs: list[Any] = list(itertools.combinations(sorted(replies, key=str), 2))
        if project.pairs_per_item:
            drawn = sorted(pairs, key=lambda pair: draw(project.seed, "pairs", item, *pair))
            pairs = drawn[: project.pairs_per_item]
        for pair in pairs:
            yield replace(_about(collection.items[item]), replies=tuple(shuffled(pair, project.seed, "replies")))


_DRAFTS: dict[Shows, Callable[[Project, Collection], Iterator[Draft]]] = {
    "responses": _responses,
    "candidates": _candidates,
    "references": _references,
    "added references": _added,
    "items": _items,
    "pairs": _pairs,
}
WANTED: dict[Shows, str] = {
    "responses": "responses",
    "candidates": "questions with candidates, or responses",
    "references": "items with references",
    "added references": "items with references whose source is not 'human'",
    "items": "items",
    "pairs": "items with responses of two systems or more",
}
