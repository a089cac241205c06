"""Whom a sentence is about: the speaker, the hearer or other persons, as far as its pronouns and its word order say.

What they do not settle is None: these are hints for a person who labels, not an analysis.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from rejoinder.text.english.verbs import is_adverb, is_third_person, verbs
from rejoinder.text.english.words import AUXILIARIES, OPENERS, OTHERS, SPEAKER, sentences_of, words_of

Person: TypeAlias = Literal["speaker", "hearer", "others"]
# A sentence that begins with one of these has a noun for its subject.
_DETERMINERS = frozenset("a an the this that these those my your his her its our their some any no every".split())
_PHRASES = re.compile(r"\b(?:thank you|see you|excuse me|you know|i mean|i see)\b[,.]?", re.IGNORECASE)  # about nobody
_ADDRESSED = re.compile(r"^\w+,\s+(?=\w)")  # "Tom, you ..."
_ANSWERED: dict[Person | None, Person | None] = {
    "hearer": "speaker",
    "speaker": "hearer",
    "others": "others",
    None: None,
}


def subject(text: str) -> Person | None:
    """Whom the first sentence that tells is about: the speaker, the hearer, or others (persons; not what is "it")."""
    told = (_ADDRESSED.sub("", _PHRASES.sub("", one)) for one in sentences_of(text))
    return next((found for one in told if (found := _subject(words_of(one)))), None)


def expected_subject(text: str) -> Person | None:
    """Whom an answer to a question is about, where the question says: who is asked "do you" answers with "I"."""
    asked = [one for one in sentences_of(text) if one.endswith("?")][-1:]
    found = subject(asked[0].rpartition(", ")[2]) if asked else None
    return _ANSWERED[found]


def _subject(words: tuple[str, ...]) -> Person | None:
    start = next((n for n, word in enumerate(words) if word not in OPENERS), len(words))
    begun = words[start:]
    if begun[:2] == ("let", "us"):
        return "speaker"
    if begun and (begun[0] in _DETERMINERS or not _may_begin(begun[0])):
        return None
    for place, word in enumerate(words):
        if word in SPEAKER or word in OTHERS:
            return "speaker" if word in SPEAKER else "others"
        before = words[place - 1] if place else ""
        if word == "you" and (not before or before in OPENERS or before in AUXILIARIES):
            return "hearer"
        if word == "it" and (not before or before in OPENERS or before in AUXILIARIES):
            return None
        if place >= start and word in verbs() and word not in AUXILIARIES:
            after = words[place + 1] if place + 1 < len(words) else ""
            is_noun = after in AUXILIARIES or is_third_person(after)  # "Water costs ..."
            return "hearer" if place == start and not is_noun else None  # a verb without a subject is a request
    return None


def _may_begin(word: str) -> bool:
    """Whether a word can stand where a pronoun, an auxiliary or a request begins a clause."""
    return word in SPEAKER | OTHERS | AUXILIARIES | {"you", "it"} or word in verbs() or is_adverb(word)
