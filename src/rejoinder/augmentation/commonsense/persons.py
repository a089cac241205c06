"""Who PersonX and PersonY are in a dialogue, and utterances retold in the third person, as in knowledge files."""

from __future__ import annotations

import re

from rejoinder.augmentation.commonsense.phrases import ME, Person, make_person
from rejoinder.text.english.verbs import is_verb
from rejoinder.types import Item

_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+\b")
_ADDRESSED_NAME = re.compile(r",\s*([A-Z][a-z]+)\s*(?=[.,!?]|$)|^([A-Z][a-z]+)\s*(?=,)")
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
# Capitalised words that are not names of people.
_NOT_NAMES = frozenset(
    """Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August
    September October November December Mr Mrs Ms Miss Dr Sir Madam Christmas Easter English French German Spanish
    Chinese Japanese American British God Internet""".split()
)
_THIRD_PERSON_WORDS = {
    **{"i": "PersonX", "me": "PersonX", "my": "PersonX's", "mine": "PersonX's", "myself": "themselves"},
    **{"i'm": "PersonX is", "i've": "PersonX has", "i'll": "PersonX will", "i'd": "PersonX would", "am": "is"},
    **{"you": "PersonY", "your": "PersonY's", "yours": "PersonY's", "yourself": "themselves", "you're": "PersonY is"},
    **{
        "you've": "PersonY has",
        "you'll": "PersonY will",
        "we": "they",
        "us": "them",
        "our": "their",
        "we're": "they are",
    },
}
_MAX_WORDS = 40


def resolve_second_person(item: Item) -> Person:
    """Return who PersonY is: the person who replies, unless the last utterance names somebody and says no "you"."""
    text = item.context[-1].text if item.context else ""
    others = _find_names(text)
    return make_person(others[0]) if others and not _SECOND_PERSON.search(text) else ME


def resolve_third_person(item: Item) -> Person:
    """Return who PersonZ is: the last person named in the context, else "someone"."""
    for turn in reversed(item.context):
        if others := _find_names(turn.text):
            return make_person(others[0])
    return make_person("someone")


def _find_names(text: str) -> list[str]:
    """Return the people that a text is about, without those that it addresses by name."""
    text = " ".join(text.split())
    addressees = {name for match in _ADDRESSED_NAME.finditer(text) for name in match.groups() if name}
    return [name for name in _NAME.findall(text) if name not in addressees and name not in _NOT_NAMES]


def retell_as_event(utterance: str) -> str:
    """Return an utterance as an event: "I lost your keys" is "PersonX lost PersonY's keys"."""
    words = utterance.replace("’", "'").split()[-_MAX_WORDS:]
    event: list[str] = []
    for word in words:
        core = word.rstrip(".,!?;:")
        instead = _THIRD_PERSON_WORDS.get(core.lower())
        if instead is None and event and event[-1] in ("PersonX", "PersonY") and is_verb(core):
            instead = _to_third_person(core)
        event.append((instead or core) + word[len(core) :])
    return " ".join(event)


def _to_third_person(verb: str) -> str:
    """Return the third person of a verb in base form."""
    if verb in ("be", "have", "do", "don't"):
        return {"be": "is", "have": "has", "do": "does", "don't": "doesn't"}[verb]
    if verb.endswith("s") or verb.endswith("n't") or verb in ("can", "could", "may", "must", "will", "would", "should"):
        return verb
    if verb.endswith(("sh", "ch", "x", "z", "o", "ss")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"
