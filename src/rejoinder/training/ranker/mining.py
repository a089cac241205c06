"""Requests and offers that belong together, mined from common sense (SUGAR, section 3.2 and Limitations).

A user who asks for one thing that a goal needs may be offered another: goals and what they need come from ATOMIC (xNeed
read backwards, xIntent) and ConceptNet (HasPrerequisite read backwards, MotivatedByGoal). Requests use only verb
phrases that occur at least five times in the requests of a corpus ("please ...", "could you ...").
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from rejoinder.data.knowledge import read_triples
from rejoinder.errors import InputError
from rejoinder.models.aptness.calibration import Ids
from rejoinder.models.ranker.rows import candidate_row
from rejoinder.training.ranker.steps import RankerOptimizer, autocast_half, row_tensors
from rejoinder.training.recipes import RankerRecipe
from rejoinder.types import Dialogue

if TYPE_CHECKING:
    from rejoinder.training.ranker.start import RankerStart

MIN_REQUESTS = 5
_MAX_WORDS = 7
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
class GoalPursuit:
    """A goal and what helps to reach it; ``requested`` is the part of it that people ask for."""

    goal: str
    requested: tuple[str, ...]
    helps: tuple[str, ...]


def mine_pursuits(
    knowledge: Sequence[Path], dialogues: Iterable[Dialogue], min_requests: int = MIN_REQUESTS
) -> list[GoalPursuit]:
    """Return the pursuits in which a user may ask for one thing and be offered another."""
    needs: dict[str, set[str]] = defaultdict(set)
    for path in knowledge:
        for triple in read_triples(path):
            for goal, need in _goal_pairs(triple.head, triple.relation, triple.tail):
                needs[goal].add(need)
    phrases = {_phrase_key(need): need for pursuits in needs.values() for need in pursuits}
    counts = count_requested_phrases(dialogues, set(phrases))
    pursuits = []
    for goal, helps in sorted(needs.items()):
        requested = tuple(sorted(need for need in helps if counts[_phrase_key(need)] >= min_requests))
        if requested and len(helps) > 1:
            pursuits.append(GoalPursuit(goal, requested, tuple(sorted(helps))))
    if not pursuits:
        raise InputError(
            "nothing could be mined: no verb phrase of the knowledge occurs in five requests of the corpus"
        )
    return pursuits


def count_requested_phrases(dialogues: Iterable[Dialogue], wanted: set[str]) -> Counter[str]:
    """Return how often each wanted phrase (without its small words) begins a request."""
    counts: Counter[str] = Counter()
    for dialogue in dialogues:
        for turn in dialogue.turns:
            for phrase in _REQUEST.findall(turn.text.lower()):
                words = [word for word in phrase.split() if word not in _SMALL][:_MAX_WORDS]
                for end in range(1, len(words) + 1):
                    if (key := " ".join(words[:end])) in wanted:
                        counts[key] += 1
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


def _phrase_key(phrase: str) -> str:
    return " ".join(word for word in phrase.split() if word not in _SMALL)


Pursuits = Sequence[GoalPursuit]
_REQUESTS = (
    "Please {}.",
    "Can you help me {}?",
    "Could you {} for me?",
    "I would like to {}.",
    "Can I {}?",
    "Help me {}.",
)
_OFFERS = (
    "Sure. Would you like me to {} too?",
    "Of course. Shall I also {}?",
    "Yes, I can {} as well.",
    "Certainly. Do you want to {} first?",
    "Sorry, that is not possible now. Would you like to {} instead?",
)
_GOAL = "The user wants to {}."
_OFFER_COUNT, _QUESTIONS, _GOAL_SHARE = 6, 64, 0.3


def train_on_pursuits(
    start: RankerStart, mined: Pursuits, recipe: RankerRecipe, device: torch.device, rng: random.Random
) -> str:
    """Train the reader for some steps and return the result in one line."""
    offers = {help_ for one in mined for help_ in one.helps}
    mined = [one for one in mined if len(one.helps) < len(offers)]
    if not mined:
        raise InputError("the mined pursuits all need the same things, so none has a wrong offer; give more knowledge")
    network = start.reader.to(device)
    steps = RankerOptimizer(network, recipe.mined, recipe.mined_rate, recipe)
    token_ids: dict[str, Ids] = {}
    loss = torch.zeros(())
    for _ in range(recipe.mined):
        texts = [_make_question(rng, mined) for _ in range(_QUESTIONS)]
        flat = list(dict.fromkeys(text for parts in texts for text in parts if text not in token_ids))
        token_ids.update(zip(flat, map(tuple, start.encode(flat)), strict=True))
        rows = [
            candidate_row(
                [token_ids[goal]] if goal else [], token_ids[request], token_ids[offer], start.marks, recipe.limits
            )
            for goal, request, *offers in texts
            for offer in offers
        ]
        network.train()
        with autocast_half(device):
            scores = network(*row_tensors(rows, start.marks.padding, device)).float().view(-1, _OFFER_COUNT)
        loss = -functional.log_softmax(scores, 1)[:, 0].mean()
        steps.step([loss])
    return f"{recipe.mined} steps on {len(mined):,} mined pursuits: loss {float(loss.detach()):.3f}"


def _make_question(rng: random.Random, mined: Pursuits) -> tuple[str, ...]:
    """Return the goal (mostly ""), a request, the offer that serves the goal, and offers of other pursuits."""
    pursuit = rng.choice(mined)
    request = rng.choice(pursuit.requested)
    helps = rng.choice([help_ for help_ in pursuit.helps if help_ != request])
    wording = rng.choice(_OFFERS)
    others: list[str] = []
    while len(others) < _OFFER_COUNT - 1:
        other = rng.choice(rng.choice(mined).helps)
        if other not in pursuit.helps:
            others.append(wording.format(other))
    goal = _GOAL.format(pursuit.goal) if rng.random() < _GOAL_SHARE else ""
    return (goal, rng.choice(_REQUESTS).format(request), wording.format(helps), *others)
