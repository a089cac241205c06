"""Which utterances can be candidates for a true reply, and why the others cannot.

A test set must not give the true reply away by its spaces, quotes, capitals or a missing full stop. Dialogues and
repository come from different places: DailyDialog has a space before every full stop, subtitles do not, chat logs have
neither capitals nor full stops. ``tidy_text`` gives all texts the same spaces and quotes; ``describe_form`` returns the
differences that remain, and ``is_near_in_length`` keeps long speeches away from a "Yes, please." Nor may length alone
give it away: ``draw_longer`` says how many candidates of a question are longer than its true reply.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from rejoinder.seeded import stable_hash
from rejoinder.selection.leakage import TrainingTexts
from rejoinder.selection.settings import SelectionSettings
from rejoinder.text.normalise import normalise_text, text_digest
from rejoinder.text.similarity import is_near_any
from rejoinder.text.tokens import content_words
from rejoinder.types import Item

Beginning: TypeAlias = Literal["capital", "small", "other"]

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "`": "'"})
_BEFORE_SIGN = re.compile(r"\s+([,.?!;:]+)(?=\s|$)")
_ENDING = re.compile(r"(?<=\w)\s*'\s*(s|m|re|ve|ll|d|t)\b", re.IGNORECASE)
_NOT = re.compile(r"(?<=\w)\s+n't\b", re.IGNORECASE)


_EXTRA_WORDS = 2  # the longer text may have twice the words of the shorter, plus so many


class TextForm(NamedTuple):
    """How a text begins, and whether it ends with punctuation."""

    beginning: Beginning
    ends_with_sign: bool


def tidy_text(text: str) -> str:
    """Return a text with plain quotes and single spaces, and no space before punctuation or inside "it 's"."""
    text = " ".join(text.translate(_QUOTES).split())
    return _NOT.sub("n't", _ENDING.sub(r"'\1", _BEFORE_SIGN.sub(r"\1", text)))


def describe_form(text: str) -> TextForm:
    """Return how a text is written."""
    letter = next((sign for sign in text if sign.isalnum()), "")
    beginning: Beginning = "capital" if letter.isupper() else "small" if letter.islower() else "other"
    return TextForm(beginning, bool(text.strip()) and unicodedata.category(text.strip()[-1])[0] in "PS")


def is_near_in_length(first: int, second: int) -> bool:
    """Whether the longer of two texts, by number of words, has at most twice the words of the other, plus two."""
    return max(first, second) <= 2 * min(first, second) + _EXTRA_WORDS


def is_longer(text: str, truth: str) -> bool:
    """Whether a text is at least as long as the true reply: by words, and by characters if it has as many words."""
    first, second = tidy_text(text), tidy_text(truth)
    return (first.count(" "), len(first)) >= (second.count(" "), len(second))


def draw_longer(question: str, n: int) -> int:
    """Return how many of a question's n false candidates shall be longer than its true reply: 0 to n, all as often.

    The question's id alone decides it, so that sets with other candidates for the same questions agree.
    """
    return stable_hash("longer", question) % (n + 1)


OUTSIDE_SHARE = ""  # the reason for an utterance outside the random share of the repository; it is not counted
_HASH_RANGE = 2**64


@dataclass(eq=False)
class CandidateFilter:
    """Filters the candidates of an item; ``copies`` are the repository's dialogues that copy the item's own."""

    item: Item
    settings: SelectionSettings
    training: TrainingTexts
    copies: frozenset[str]
    _candidate_texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        truth = self.item.references[0].text
        self._truth = normalise_text(truth)
        self._context = [normalise_text(turn.text) for turn in self.item.context]
        related = self.settings.related and not self.settings.random
        self._words = content_words(truth) if related else frozenset()
        self._form = describe_form(tidy_text(truth)) if self.settings.alike else None

    def reason(self, text: str, dialogue: str) -> str | None:
        """Return why a text is left out; None if it is accepted, and then no similar text is accepted after it."""
        share = self.settings.share
        if share < 1 and stable_hash(self.settings.seed, "share", dialogue) >= share * _HASH_RANGE:
            return OUTSIDE_SHARE
        if dialogue in self.copies:
            return "from a copy of the question's own dialogue"
        if self.training.digests and text_digest(text) in self.training.digests:
            return "said in the training files"
        if self._words and not self._words & content_words(text):
            return "without a content word of the true reply"
        if self._form is not None and describe_form(tidy_text(text)) != self._form:
            return "written in another form than the true reply"
        words = normalise_text(text)
        if self._form is not None and not is_near_in_length(words.count(" "), self._truth.count(" ")):
            return "much longer or shorter than the true reply"
        for others, what in ((self._candidate_texts, "another candidate"), (self._context, "a turn of the context")):
            if is_near_any(words, others):
                return f"nearly the same as {what}"
        if is_near_any(words, [self._truth]):
            return "nearly the same as the true reply"
        self._candidate_texts.append(words)
        return None
