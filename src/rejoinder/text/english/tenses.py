"""The tense of a sentence, as far as its first verb shows one; None where the word lists do not settle it."""

from __future__ import annotations

import functools
import re
from typing import Literal, TypeAlias

from rejoinder.text.english.verbs import is_adverb, is_third_person, verbs
from rejoinder.text.english.words import NEGATIONS, OPENERS, OTHERS, SPEAKER, sentences_of, words_of

Tense: TypeAlias = Literal["past", "present", "future"]
_PRESENT = frozenset("am is are do does has have can may must".split())
_PAST_AUXILIARIES = frozenset("was were did had".split())
_PAST = frozenset(
    """
    ate beat became began bent blew bought broke brought built burnt came caught chose crept dealt died drank
    dreamt drew drove dug fed fell felt fled flew fought found forgave forgot froze gave got grew heard held hid hung
    kept knelt knew laid led lent lit lost made meant met paid ran rang rode said sang sank sat saw sent
    shook shone slept slid sold spent spoke stole stood stuck struck swam swept swore taught thought threw told
    took tore understood was went were woke won wore wrote
    """.split()
)
# Also nouns, adjectives or a direction: a verb only behind a pronoun.
_PAST_OR_NOT = frozenset("bit bound lay left rose shot".split())
_DOUBLED = re.compile(r"([bdgklmnprt])\1ed$")
_PRONOUNS = SPEAKER | OTHERS | {"you", "it"}


def tense(text: str) -> Tense | None:
    """The tense of the first verb that shows one."""
    return next((found for one in sentences_of(text) if (found := _tense(words_of(one)))), None)


def _tense(words: tuple[str, ...]) -> Tense | None:
    for place, word in enumerate(words):
        after = words[place + 1 : place + 4]
        if word in ("will", "shall") or (word == "going" and after[:1] == ("to",)):
            return "future"
        if word in ("would", "could", "should", "might") or (word in ("have", "has") and _is_participle(after)):
            return None  # what might be, and what has been, goes with any tense
        if word in ("am", "is", "are") and "going" in after[:2]:
            continue
        told = place > 0 and words[place - 1] in _PRONOUNS
        if word in _PAST_AUXILIARIES or word in _PAST or base_of_past(word):
            return "past"
        if told and (word in _PAST_OR_NOT or word.endswith("ed")):
            return "past"
        if word in _PRESENT or is_third_person(word) or (word in verbs() and _after_subject(words, place)):
            return "present"
    return None


def _after_subject(words: tuple[str, ...], place: int) -> bool:
    """Whether a base form is a verb here: it follows a pronoun, adverbs aside, or begins the clause."""
    before = [word for word in words[:place] if not is_adverb(word) and word not in OPENERS]
    return not before or before[-1] in _PRONOUNS - {"it"}


@functools.cache
def base_of_past(word: str) -> str | None:
    """The verb whose regular past a word is."""
    if not word.endswith("ed") or len(word) < 4:
        return None
    found = [word[:-2], word[:-1], *([word[:-3] + "y"] if word.endswith("ied") else [])]
    found += [word[:-3]] if _DOUBLED.search(word) else []
    return next((one for one in found if one in verbs()), None)


def _is_participle(words: tuple[str, ...]) -> bool:
    told = [word for word in words if not is_adverb(word) and word not in NEGATIONS][:1]
    return any(w in _PAST or base_of_past(w) or w in ("been", "done", "gone", "seen", "had") for w in told)
