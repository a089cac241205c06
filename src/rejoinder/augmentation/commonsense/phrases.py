"""From the shorthand of a knowledge file to words that people say: PersonX and PersonY become "you", "I" or a name.

Tails are in the third person ("persony hugs them", "gets his keys back"). When the person whom they are about says
them, the verb agrees with "I", "they" is the hearer, and "their" is mostly "my". These are rules of thumb: a pronoun in
a tail may mean either person, and no rule can decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rejoinder.text.english.verbs import inflect_for_subject, is_adverb, is_third_person, is_verb, verb_base_form

BLANK = "___"
_PERSON_PLACEHOLDER = re.compile(r"\bperson\s?([xyz])\b|(?<![\w'’-])([xyz])(?![\w-])", re.IGNORECASE)
_DETOKENISING = (
    (re.compile(r"\s+(n't|'(?:s|m|re|ve|ll|d))\b"), r"\1"),
    (re.compile(r"\s+([,.!?;:])"), r"\1"),
    (re.compile(r"\bca n't\b|\bcan not\b"), "can't"),
)
_WORD_AND_PUNCTUATION = re.compile(r"^(.*?)([,.!?;:]*)$")
_ENDINGS = {False: {"s": "re"}, True: {"s": "m", "re": "m"}}  # of "you" and of "I"
_NOT_AN_OWNER = frozenset(
    """a again an and at away back because before but by for from home in into later more next of off on or out
    he i she so that the they to too towards up very we well when while with you""".split()
)


@dataclass(frozen=True)
class Person:
    """The pronouns or the name of a person."""

    subject: str
    object: str
    owner: str

    @property
    def speaks(self) -> bool:
        """Whether verbs must be changed to agree: for "I" and "you"."""
        return self.subject in ("I", "you")


ME = Person("I", "me", "my")
YOU = Person("you", "you", "your")


def make_person(name: str) -> Person:
    """Return a third person, who is neither the speaker nor the hearer."""
    return Person(name, name, f"{name}'s")


def normalise_phrase(text: str) -> str:
    """Return a phrase of a knowledge file as plain text: spaces for ``~``, whole words, people as personx and so on."""
    text = " ".join(text.replace("~", " ").split())
    for pattern, instead in _DETOKENISING:
        text = pattern.sub(instead, text)
    return _PERSON_PLACEHOLDER.sub(lambda found: f"person{(found[1] or found[2]).lower()}", text).strip(" .")


def fill_persons(text: str, people: Mapping[str, Person]) -> str:
    """Return a normalised phrase with people instead of personx, persony and personz; verbs agree with them."""
    words = text.split()
    for place, word in enumerate(words):
        core, ends = _split_punctuation(word)
        owner = core.lower().endswith(("'s", "’s")) and core[:-2].lower() in people
        person = people.get(core[:-2].lower() if owner else core.lower())
        if person is None:
            continue
        if owner:
            words[place] = person.owner + ends
        elif _is_subject(words, place):
            words[place] = person.subject + ends
            make_verb_agree(words, place + 1, person, sure=place == 0)
        else:
            words[place] = person.object + ends
    return " ".join(words)


def _is_subject(words: list[str], place: int) -> bool:
    if place == 0:
        return True
    behind = [word for word in words[place + 1 : place + 3] if not is_adverb(word)][:1]
    verb = bool(behind) and (is_third_person(behind[0]) or behind[0] in ("was", "were", "will", "can", "could", "had"))
    return verb and not is_third_person(words[place - 1])


def make_verb_agree(words: list[str], place: int, person: Person, sure: bool = False) -> None:
    """Make the verb at a place, and verbs joined by "and", agree with the subject; ``sure``: it must be a verb."""
    if not person.speaks:
        return
    while place < len(words) and is_adverb(words[place]):
        place += 1
    if place >= len(words):
        return
    core, ends = _split_punctuation(words[place])
    third = is_third_person(core) or core in ("was", "were") or (sure and verb_base_form(core) != core)
    words[place] = inflect_for_subject(core, person.subject) + ends if third or core in ("are", "be") else words[place]
    for later in range(place + 1, len(words)):
        if words[later - 1] in ("and", "but", "then", "or") and third:
            core, ends = _split_punctuation(words[later])
            if is_third_person(core):
                words[later] = inflect_for_subject(core, person.subject) + ends


def retell_in_first_person(text: str, they: Person = YOU) -> str:
    """Retell a phrase in the first person; ``they`` says who "they" and "them" are, and "their" becomes "my"."""
    words = text.split()
    you_named = False  # whether "you" came before: then a pronoun after it is mostly the speaker
    for place, word in enumerate(words):
        core, ends = _split_punctuation(word)
        small = core.lower()
        after = words[place + 1] if place + 1 < len(words) and not ends else ""
        instead = _replace_pronoun(small, after, you_named, they)
        you_named = you_named or small in ("you", "your")
        if instead is not None:
            words[place] = instead + ends
            if small in ("they", "he", "she"):
                make_verb_agree(words, place + 1, ME if instead == "I" else YOU)
    return " ".join(words)


def _replace_pronoun(word: str, after: str, you_named: bool, they: Person) -> str | None:
    owner = bool(after) and after not in _NOT_AN_OWNER
    if word in ("themselves", "themself", "himself", "herself", "theirselves"):
        return "yourself" if you_named else "myself"
    if word in ("they", "he", "she"):
        return they.subject if word == "they" else "you"
    if word in ("them", "him") or (word == "her" and not owner):
        return "me" if you_named or (word == "them" and they is ME) else "you"
    if word == "their":
        return "my"
    if word in ("his", "her"):
        return "your"
    who, _, ending = word.partition("'")
    if who in ("they", "he", "she") and ending in ("s", "re", "ll", "ve", "d"):
        return (
            f"{they.subject if who == 'they' else 'you'}'{_ENDINGS[they is ME and who == 'they'].get(ending, ending)}"
        )
    return {"theirs": "mine", "hers": "yours", "i": "I", "i'm": "I'm", "i'll": "I'll", "i've": "I've"}.get(word)


def apply_to_speaker(text: str) -> str:
    """Return a phrase about people in general ("open your mouth") as a speaker would say it of themselves."""
    words = text.split()
    for place, word in enumerate(words):
        core, ends = _split_punctuation(word)
        after = words[place + 1] if place + 1 < len(words) and not ends else ""
        you = "I" if after and (is_verb(after) or is_adverb(after)) else "me"
        instead = {"your": "my", "yours": "mine", "yourself": "myself", "you": you, "one's": "my", "oneself": "myself"}
        words[place] = instead.get(core.lower(), core) + ends
    return " ".join(words)


def starts_with_verb(words: list[str]) -> bool:
    """Whether a phrase begins with a known verb, ignoring adverbs before it."""
    rest = [word for word in words if not is_adverb(word)]
    return bool(rest) and is_verb(_split_punctuation(rest[0])[0])


def to_base_form(words: list[str]) -> list[str]:
    """Return a phrase with its first verb, and verbs joined to it by "and", in base form."""
    place = next((n for n, word in enumerate(words) if not is_adverb(word)), 0)
    result = list(words)
    for at in range(len(words)):
        core, ends = _split_punctuation(words[at])
        joined = (
            at > place
            and words[at - 1] in ("and", "or", "then")
            and is_third_person(_split_punctuation(words[place])[0])
        )
        if (at == place or joined) and is_third_person(core):
            result[at] = verb_base_form(core) + ends
    return result


def _split_punctuation(word: str) -> tuple[str, str]:
    match = _WORD_AND_PUNCTUATION.match(word)
    return (match[1], match[2]) if match else (word, "")
