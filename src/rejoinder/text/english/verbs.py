"""English verbs in short phrases: the base form, and the form that agrees with a subject."""

from __future__ import annotations

import functools
from importlib.resources import files

_BASE_FORMS = {
    **dict.fromkeys(("is", "are", "am", "was", "were", "been", "being"), "be"),
    **{"has": "have", "does": "do", "goes": "go", "dies": "die", "lies": "lie", "ties": "tie", "vies": "vie"},
    **{"aches": "ache", "focuses": "focus", "quizzes": "quiz", "buses": "bus", "gases": "gas", "cannot": "cannot"},
}
_NEGATED_FORMS = {"isn't": "aren't", "wasn't": "weren't", "doesn't": "don't", "hasn't": "haven't"}
_NEVER_VERBS = frozenset(
    "always yes this his its us thus plus less perhaps besides towards sometimes afterwards news".split()
)
_MODALS = frozenset("can can't cannot could couldn't may might must should shouldn't will won't would wouldn't".split())
_ADVERBS = frozenset("also always already just never now often then still really soon even finally not".split())


@functools.cache
def load_verbs() -> frozenset[str]:
    """Return all known verbs, in base form."""
    lines = (files("rejoinder.text.english") / "verbs.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def verb_base_form(word: str) -> str:
    """Return the base form of a verb in the third person ("cries" gives "cry"); other words unchanged."""
    if word in _BASE_FORMS:
        return _BASE_FORMS[word]
    if word in _NEGATED_FORMS:
        return _NEGATED_FORMS[word]
    if len(word) < 3 or not word.endswith("s") or word.endswith(("ss", "us")) or word in _NEVER_VERBS:
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    return word[:-1]


def is_verb(word: str) -> bool:
    """Whether a word is a known verb, in base form or in the third person."""
    return (
        verb_base_form(word) in load_verbs()
        or word in _MODALS
        or word in _NEGATED_FORMS
        or word in _NEGATED_FORMS.values()
    )


def is_third_person(word: str) -> bool:
    """Whether a word is a known verb in the third person."""
    return word in _NEGATED_FORMS or (verb_base_form(word) != word and verb_base_form(word) in load_verbs())


def is_adverb(word: str) -> bool:
    """Whether a word may stand between a subject and its verb."""
    return word in _ADVERBS or (word.endswith("ly") and len(word) > 4)


def inflect_for_subject(word: str, subject: str) -> str:
    """Return the form of a verb that goes with "I" or "you"; the past tense stays."""
    if word in ("was", "were"):
        return "was" if subject == "I" else "were"
    if word in ("wasn't", "weren't"):
        return "wasn't" if subject == "I" else "weren't"
    if word in ("isn't", "aren't"):
        return "am not" if subject == "I" else "aren't"
    base = verb_base_form(word)
    return {"I": "am", "you": "are"}[subject] if base == "be" else base
