"""Requests and offers that belong together, mined from common sense (SUGAR, section 3.2 and Limitations).

Who asks for one thing that a goal needs may be offered another: goals and what they need come from ATOMIC (xNeed read
backwards, xIntent) and ConceptNet (HasPrerequisite read backwards, MotivatedByGoal). Only verb phrases that stand at
least five times in the requests of a corpus ("please ...", "could you ...") are asked for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.data.triples import read_triples
from rejoinder.errors import InputError
from rejoinder.types import Dialogue

SEEN = 5
_MOST_WORDS = 7
_REQUEST = re.compile(
    r"\b(?:please|can you|could you|would you|will you|can i|could i|may i|i would like to|i'd like to|i want to|"
    r"help me|let me|let us|let's)(?: please| also| just| help me| kindly)? ([a-z][a-z' -]*)"
)
_SMALL = frozenset("a an the my your his her its our their some any this that these those me you it up to".split())
_PERSON = re.compile(r"\bperson ?[xyz](?: ?'s)?\b", re.IGNORECASE)
_SUBJECT = re.compile(r"^(?:person ?x|he|she) ")
_TO = re.compile(r"^(?:to|for (?:him|her|them) to|they)\s+(?:to\s+)?")
_STATE = re.compile(r"^(?:be|been|being|is|are|was|were|have been|feel|become|seem|know|none)\b")


@dataclass(frozen=True)
class Pursuit:
    """A goal, what it needs, and what else helps; ``asked`` are those of the needs that people ask for."""

    goal: str
    asked: tuple[str, ...]
    helps: tuple[str, ...]


def mine(knowledge: Sequence[Path], dialogues: Iterable[Dialogue], seen: int = SEEN) -> list[Pursuit]:
    """The pursuits in which somebody may ask for one thing and be offered another."""
    needs: dict[str, set[str]] = defaultdict(set)
    for path in knowledge:
        for triple in read_triples(path):
            for goal, need in _pairs(triple.head, triple.relation, triple.tail):
                needs[goal].add(need)
    phrases = {_key(need): need for found in needs.values() for need in found}
    counts = request_counts(dialogues, set(phrases))
    found = []
    for goal, helps in sorted(needs.items()):
        asked = tuple(sorted(need for need in helps if counts[_key(need)] >= seen))
        if asked and len(helps) > 1:
            found.append(Pursuit(goal, asked, tuple(sorted(helps))))
    if not found:
        raise InputError(
            "nothing could be mined: no verb phrase of the knowledge is asked for five times in the corpus"
        )
    return found


def request_counts(dialogues: Iterable[Dialogue], wanted: set[str]) -> Counter[str]:
    """How often each wanted phrase (its words that are not small ones) begins what somebody asks for."""
    found: Counter[str] = Counter()
    for dialogue in dialogues:
        for turn in dialogue.turns:
            for phrase in _REQUEST.findall(turn.text.lower()):
                words = [word for word in phrase.split() if word not in _SMALL][:_MOST_WORDS]
                for end in range(1, len(words) + 1):
                    if (key := " ".join(words[:end])) in wanted:
                        found[key] += 1
    return found


def _pairs(head: str, relation: str, tail: str) -> Iterator[tuple[str, str]]:
    """(goal, need) of a triple, where it has them."""
    both = {
        "xNeed": (head, tail),
        "xIntent": (tail, head),
        "HasPrerequisite": (head, tail),
        "MotivatedByGoal": (tail, head),
    }.get(relation)
    if both is None:
        return
    goal, need = (_phrase(text) for text in both)
    if goal and need and goal != need:
        yield goal, need


def _phrase(text: str) -> str:
    """A verb phrase without "to" and persons; nothing where it is a state, too long, or has a gap."""
    found = " ".join(text.lower().strip().rstrip(".").split())
    spoken_of = _SUBJECT.sub("", found)
    if spoken_of != found:  # "PersonX opens a window": to open a window
        first, _, rest = spoken_of.partition(" ")
        found = f"{_base(first)} {rest}".strip()
    found = _PERSON.sub("someone", _TO.sub("", found)).strip()
    words = found.split()
    fits = 1 <= len(words) <= _MOST_WORDS and "_" not in found and not _STATE.match(found)
    return found if fits else ""


def _base(verb: str) -> str:
    """A verb without the ending of the third person, as far as its letters tell."""
    irregular = {"goes": "go", "does": "do", "has": "have", "is": "be"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith(("ss", "us")) else verb


def _key(phrase: str) -> str:
    return " ".join(word for word in phrase.split() if word not in _SMALL)
