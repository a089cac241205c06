"""Sentences from inferences, by the templates of ``templates.toml`` (SCARCE, Appendix B.1)."""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from rejoinder.augmentation.commonsense.phrases import (
    BLANK,
    ME,
    YOU,
    Person,
    apply_to_speaker,
    fill_persons,
    make_person,
    make_verb_agree,
    normalise_phrase,
    retell_in_first_person,
    starts_with_verb,
    to_base_form,
)
from rejoinder.text.english.verbs import is_verb

TemplateTable: TypeAlias = Literal["default", "table5"]
_NOTHING = frozenset(("", "none", "n/a", "na", "no", "nothing", "no effect", "unknown", "no one", "nobody"))
_SUBJECTS = frozenset(
    ("persony", "they", "he", "she")
)  # words at the beginning of a tail that name the person it is about
_SOMEBODY = make_person("someone")
_FEELS = re.compile(r"^(?:(?:to )?(?:feels?|felt|feeling|be|is|are|was|were|gets?|becomes?) )+", re.IGNORECASE)
_WANTS = re.compile(r"^(?:wants?|wanted|wishes|would like) ", re.IGNORECASE)
_OTHERS_DO = re.compile(r"^(?:for )?(you|me|someone|[A-Z]\w+) ((?:not )?to .+)$")
_OBJECTS = frozenset("a an the my your their his her some personx it them him you".split())
_THINGS = frozenset("a an the some more my your their his her no any another".split())


class SentenceTemplate(NamedTuple):
    """What comes before a tail, and how the tail is changed to fit."""

    start: str
    tail: str


@functools.cache
def load_templates(table: TemplateTable) -> dict[str, SentenceTemplate]:
    """Return the template of each relation."""
    tables = tomllib.loads((files("rejoinder.augmentation.commonsense") / "templates.toml").read_text(encoding="utf-8"))
    return {relation: SentenceTemplate(**entry) for relation, entry in tables[table].items()}


@dataclass(frozen=True)
class SentenceWriter:
    """Writes sentences from tails, by one table of templates."""

    table: TemplateTable = "default"

    def write(self, relation: str, tail: str, second: Person = ME, third: Person = _SOMEBODY) -> str | None:
        """Return the sentence of a tail; None if it is empty ("none"), has a gap, or does not fit the template.

        ``second`` is PersonY: the person who replies, unless another was named; ``third`` is PersonZ.
        """
        text = normalise_phrase(tail)
        if text.lower() in _NOTHING or BLANK in text or "(" in text:
            return None
        template = load_templates(self.table)[relation]
        people = {"personx": YOU, "persony": second, "personz": third}
        if template.tail == "as_it_is":
            return _finish_sentence(template.start, _fill_literally(text))
        shape = {"feeling": _phrase_feeling, "verb": _phrase_effect, "infinitive": _phrase_want, "bare": _phrase_bare}[
            template.tail
        ]
        return shape(template.start, text, people)


def _fill_literally(text: str) -> str:
    return re.sub(r"\bpersonx\b", "you", text.replace("personx's", "your"))


def _phrase_feeling(start: str, text: str, people: dict[str, Person]) -> str | None:
    words = text.split()
    if words[0].lower() in _SUBJECTS:
        words = words[1:]
        if not _FEELS.match(" ".join(words) + " "):
            return None
    feeling = _FEELS.sub("", " ".join(words))
    if feeling.startswith(("having ", "being ")):
        start = "I am"
    return _finish_sentence(start, retell_in_first_person(fill_persons(feeling, people), ME)) if feeling else None


def _phrase_effect(start: str, text: str, people: dict[str, Person]) -> str | None:
    words = _repair_verb(text.split())
    if words[0].lower() == "personx" or (words[0].lower() == "persony" and not people["persony"].speaks):
        return _finish_sentence("", fill_persons(" ".join(words), people)) if starts_with_verb(words[1:]) else None
    words = words[1:] if words[0].lower() in _SUBJECTS else words
    if not words:
        return None
    if not starts_with_verb(words):
        if not words[0].endswith(("ing", "ed")) or len(words[0]) < 5:
            return None
        if words[0].endswith("ing") or len(words) == 1 or words[1].lower() not in _OBJECTS:
            words = ["am", *words]  # "losing money", "impressed by it"; but "enjoyed the party"
    make_verb_agree(words, 0, ME)
    return _finish_sentence(start, retell_in_first_person(fill_persons(" ".join(words), people)))


def _repair_verb(words: list[str]) -> list[str]:
    """Correct the first verb of a phrase: "see's what happens" becomes "sees what happens"."""
    return [f"{words[0][:-2]}s", *words[1:]] if words[0].endswith("'s") and is_verb(words[0][:-2]) else words


def _phrase_want(start: str, text: str, people: dict[str, Person]) -> str | None:
    words = text.split()
    if words[0].lower() in _SUBJECTS and len(words) > 1 and _WANTS.match(f"{words[1]} "):
        words = words[1:]
    plain = _WANTS.sub("", " ".join(words))
    phrase = retell_in_first_person(_fill_object(plain, people))
    others = _OTHERS_DO.match(phrase)
    if others:
        return _finish_sentence(start.removesuffix(" to"), f"{others[1]} {others[2]}")
    words = phrase.removeprefix("to ").split()
    if words and words[0].lower() in _THINGS and start.endswith(" to") and not phrase.startswith("to "):
        return _finish_sentence(start.removesuffix(" to"), " ".join(words))
    if not words or not (phrase.startswith("to ") or starts_with_verb(words)):
        return None
    return _finish_sentence(start, " ".join(to_base_form(words)))


def _fill_object(text: str, people: dict[str, Person]) -> str:
    """Fill in people; the one with whom a wish begins ("personx to stay") is its object."""
    first, _, rest = text.partition(" ")
    who = people.get(first.lower())
    if who is not None and rest.startswith(("to ", "not to ")):
        return f"{who.object} {fill_persons(rest, people)}"
    return fill_persons(text, people)


def _phrase_bare(start: str, text: str, people: dict[str, Person]) -> str | None:
    """The tails of ConceptNet: verbs in base form, said of people in general."""
    words = apply_to_speaker(text).removeprefix("to ").split()
    if not words or (words[0] in _THINGS and not start.endswith(" to")):
        return None
    if words[0] in _THINGS:
        return _finish_sentence(start.removesuffix(" to"), fill_persons(" ".join(words), people))
    return _finish_sentence(start, fill_persons(" ".join(to_base_form(words)), people))


def _finish_sentence(start: str, body: str) -> str:
    """Return a sentence with a capital letter and one full stop."""
    text = re.sub(r"\bi\b", "I", f"{start} {body}".strip()).rstrip(" .,;:")
    return text[:1].upper() + text[1:] + ("" if text.endswith(("!", "?")) else ".")
