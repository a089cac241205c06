"""Requests and the goals behind them, mined from common sense (SUGAR, section 3.2, step 1).

Goals and what they need come from ATOMIC (xNeed read backwards, xIntent) and ConceptNet (HasPrerequisite read
backwards, MotivatedByGoal). A need becomes a request if its verb phrase occurs at least five times in the requests of a
corpus ("please ...", "could you ..."); it is worded as most of them are.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from rejoinder.data.knowledge import read_triples
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.types import Dialogue

MIN_REQUESTS = 5
_MAX_WORDS = 7
_OPENINGS = {  # how a request begins, and the whole of it
    "please": "Please {}.",
    "can you": "Can you {}?",
    "could you": "Could you {}?",
    "would you": "Would you {}?",
    "will you": "Will you {}?",
    "can i": "Can I {}?",
    "could i": "Could I {}?",
    "may i": "May I {}?",
    "i would like to": "I would like to {}.",
    "i'd like to": "I'd like to {}.",
    "i want to": "I want to {}.",
    "help me": "Help me {}.",
    "let me": "Let me {}.",
    "let us": "Let us {}.",
    "let's": "Let's {}.",
}
_REQUEST = re.compile(rf"\b({'|'.join(_OPENINGS)})(?: please| also| just| help me| kindly)? ([a-z][a-z' -]*)")
_SMALL = frozenset("a an the my your his her its our their some any this that these those me you it up to".split())
_PERSON = re.compile(r"\bperson ?[xyz](?: ?'s)?\b", re.IGNORECASE)
_SUBJECT = re.compile(r"^(?:person ?x|he|she) ")
_TO = re.compile(r"^(?:to|for (?:him|her|them) to|they)\s+(?:to\s+)?")
_STATE = re.compile(r"^(?:be|been|being|is|are|was|were|have been|feel|become|seem|know|none)\b")


class MinedRequest(NamedTuple):
    """A request, the goal behind it, and how often the request's verb phrase was asked for."""

    request: str
    goal: str
    times: int


def mine_requests(
    knowledge: Sequence[Path], dialogues: Iterable[Dialogue], min_requests: int = MIN_REQUESTS
) -> list[MinedRequest]:
    """Return pairs of a request and a goal, the most requested first; phrases that differ in small words are one.

    A verb alone ("get up", without its small words) is left out: it would count whatever is asked for with that verb.
    """
    needs = read_goal_needs(knowledge)
    counts = count_requested_phrases(dialogues, {phrase_key(need) for helps in needs.values() for need in helps})
    pairs: dict[tuple[str, str], MinedRequest] = {}
    for goal, helps in sorted(needs.items()):
        for need in sorted(helps):
            openings = counts[phrase_key(need)]
            if (times := openings.total()) >= min_requests and " " in phrase_key(need):
                wording = min(openings, key=lambda one: (-openings[one], one))
                request = MinedRequest(_OPENINGS[wording].format(need), f"to {goal}", times)
                pairs.setdefault((phrase_key(need), phrase_key(goal)), request)
    if not pairs:
        raise InputError(
            f"nothing could be mined: no verb phrase of the knowledge occurs in {min_requests} requests of the corpus"
        )
    return sorted(pairs.values(), key=lambda one: (-one.times, one.request, one.goal))


def write_requests(requests: Sequence[MinedRequest], path: str | Path) -> int:
    """Write requests and goals, one per line, as the steps of ``rejoinder situate project`` read them."""
    with atomic_write(path) as file:
        for number, one in enumerate(requests, start=1):
            fields = {"id": f"mined-{number}", **one._asdict()}
            file.write(orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE))
    return len(requests)


def read_goal_needs(knowledge: Sequence[Path]) -> dict[str, set[str]]:
    """Return what each goal of some files needs, both as verb phrases."""
    needs: dict[str, set[str]] = defaultdict(set)
    for path in knowledge:
        for triple in read_triples(path):
            for goal, need in _goal_pairs(triple.head, triple.relation, triple.tail):
                needs[goal].add(need)
    return needs


def count_requested_phrases(dialogues: Iterable[Dialogue], wanted: set[str]) -> dict[str, Counter[str]]:
    """Return how often each wanted phrase (without its small words) begins a request, by the request's first words."""
    counts: dict[str, Counter[str]] = {phrase: Counter() for phrase in wanted}
    for dialogue in dialogues:
        for turn in dialogue.turns:
            for opening, phrase in _REQUEST.findall(turn.text.lower()):
                words = [word for word in phrase.split() if word not in _SMALL][:_MAX_WORDS]
                for end in range(1, len(words) + 1):
                    if (key := " ".join(words[:end])) in wanted:
                        counts[key][opening] += 1
    return counts


def _goal_pairs(head: str, relation: str, tail: str) -> Iterator[tuple[str, str]]:
    """Yield (goal, need) of a triple, where it has them."""
    texts = {
        "xNeed": (head, tail),
        "xIntent": (tail, head),
        "HasPrerequisite": (head, tail),
        "MotivatedByGoal": (tail, head),
    }.get(relation)
    if texts is None:
        return
    goal, need = (_goal_phrase(text) for text in texts)
    if goal and need and goal != need:
        yield goal, need


def _goal_phrase(text: str) -> str:
    """Return a verb phrase without "to" and persons; "" where it is a state, too long, or has a gap."""
    phrase = " ".join(text.lower().strip().rstrip(".").split())
    without_subject = _SUBJECT.sub("", phrase)
    if without_subject != phrase:  # "PersonX opens a window": to open a window
        first, _, rest = without_subject.partition(" ")
        phrase = f"{_base_verb(first)} {rest}".strip()
    phrase = _PERSON.sub("someone", _TO.sub("", phrase)).strip()
    words = phrase.split()
    fits = 1 <= len(words) <= _MAX_WORDS and "_" not in phrase and not _STATE.match(phrase)
    return phrase if fits else ""


def _base_verb(verb: str) -> str:
    """Return a verb without the ending of the third person, as far as its spelling shows."""
    irregular = {"goes": "go", "does": "do", "has": "have", "is": "be"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith(("ss", "us")) else verb


def phrase_key(phrase: str) -> str:
    """A verb phrase without its small words: phrases with one key count as the same."""
    return " ".join(word for word in phrase.split() if word not in _SMALL)
