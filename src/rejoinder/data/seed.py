"""A seed of a situated set (SUGAR, section 3.2), and questions and items taken apart into seeds.

A question gives its context, the goal and the polarity of its meta, its reference and the statements that are relevant.
An item gives a seed for each of its references, with all statements that are not said to be irrelevant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rejoinder.data.situations import CATEGORIES
from rejoinder.errors import InputError, brief, nearest
from rejoinder.types import Item, Question, Statement

REFERENCE = "reference"  # the source of the reply that was written for a request
_YES = re.compile(
    r"\W*(sure|of course|yes|yeah|absolutely|certainly|ok|okay|alright|no problem|got it)\b", re.IGNORECASE
)
_NO = re.compile(r"\W*(sorry|i'?m sorry|i am sorry|i'?m afraid|i am afraid|no|nope|unfortunately)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Seed:
    """A request u, its goal g, the reply r1 that was written for it, and the statements S1 that make it fit.

    The polarity says whether the reply does what was asked ("yes", "no"); None where nobody said.
    """

    id: str
    request: str
    goal: str
    reply: str
    statements: tuple[Statement, ...] = ()
    polarity: str | None = None
    split: str | None = None


def seeds_of(record: object, place: str) -> list[Seed]:
    """A question or an item taken apart."""
    if isinstance(record, Question):
        return [_of_question(record, f"{place}: question {record.id}")]
    if isinstance(record, Item):
        return _of_item(record, f"{place}: item {record.id}")
    kind = type(record).__name__.lower()
    raise InputError(f"{place}: expected a seed, a question or an item, found a {kind}; see docs/situating.md")


def polarity_of(reply: str) -> str | None:
    """Whether a reply begins with a yes or a no; None where it does not tell."""
    if _YES.match(reply):
        return "yes"
    return "no" if _NO.match(reply) else None


def checked_category(category: object, where: str) -> str:
    """One of the six categories, or an error that names them."""
    if category is None:
        raise InputError(f"{where}: a statement has no category; say which: {', '.join(CATEGORIES)}")
    if category not in CATEGORIES:
        raise InputError(f"{where}: no category is called {brief(category)}; {nearest(str(category), CATEGORIES)}")
    return str(category)


def _of_question(question: Question, where: str) -> Seed:
    references = [one for one in question.candidates if one.source == REFERENCE]
    if not references and len(question.candidates) == 1:
        references = list(question.candidates)
    if len(references) != 1:
        raise InputError(f"{where} has {len(references)} candidates with the source 'reference'; it must have one")
    if question.situation and all(one.relevant is None for one in question.situation):
        raise InputError(f"{where} does not say which statements are relevant; mark them, or leave its situation out")
    relevant = tuple(one for one in question.situation if one.relevant)
    return _seed(question, question.id, references[0].text, relevant, where, question.split)


def _of_item(item: Item, where: str) -> list[Seed]:
    if not item.references:
        raise InputError(f"{where} has no reference; a seed needs the reply that was written for the request")
    kept = tuple(one for one in item.situation if one.relevant is not False)
    names = [item.id] if len(item.references) == 1 else [f"{item.id}/{n}" for n in range(1, len(item.references) + 1)]
    return [_seed(item, name, one.text, kept, where) for name, one in zip(names, item.references, strict=True)]


def _seed(
    record: Question | Item,
    name: str,
    reply: str,
    statements: tuple[Statement, ...],
    where: str,
    split: str | None = None,
) -> Seed:
    told = tuple(Statement(one.text, checked_category(one.category, where), True) for one in statements)
    return Seed(name, *request_and_goal(record, where), reply, told, _polarity(record.meta, reply, where), split)


def request_and_goal(record: Question | Item, where: str) -> tuple[str, str]:
    """What was asked for (all turns of the context), and what the person wants."""
    if not record.context:
        raise InputError(f"{where} has no context; it needs a request")
    goal = record.meta.get("goal")
    if not isinstance(goal, str) or not goal.strip():
        raise InputError(f"{where} has no goal in its meta; add 'goal', what the person wants")
    return " ".join(turn.text for turn in record.context), goal


def _polarity(meta: Any, reply: str, where: str) -> str | None:
    found = meta.get("polarity")
    if found is not None and not isinstance(found, str):
        raise InputError(f"{where} has the polarity {brief(found)}; it must be a word, such as 'yes' or 'no'")
    return found or polarity_of(reply)
