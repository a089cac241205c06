"""The language of a text, and whether it is English; very short texts are in no language that can be told."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

# Common words of English conversation that no other language shares (so not "me", "no", "do", "so", "in"): a reply with
# a good share of them is taken as English.
_ENGLISH = frozenset(
    """about and are been but by can could did does don't for from get good have her here him his how i i'd i'll i'm
    i've if it it's its just know let like my not now oh okay our out really she should some sure than thank thanks that
    that's the their them then there they think this time to too up us very want we well were what what's when where
    which who why will with would yeah yes you you're your""".split()
)
# py3langid knows 139 languages, too many for one sentence; among these it is fairly reliable.
LANGUAGES = frozenset(
    """en de fr es pt it nl sv da no nb nn fi pl cs sk hu ro bg el tr ru uk sr hr sl lt lv et ar fa he hi bn ur ta te th
    vi id ms tl sw zh ja ko""".split()
)
_NORWEGIAN = frozenset({"no", "nb", "nn"})  # one language in two written forms
_MIN_CONFIDENCE = 0.6
_MIN_WORDS = 3
_MIN_LETTERS = 4  # of a text in a script that has no spaces
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# Code, addresses and placeholders are in no language.
_NO_PROSE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\S+@\S+\.\S+|\{\{?[\w.]*\}?\}", re.DOTALL)


class LanguageGuess(NamedTuple):
    """The most likely language of a text, by its code, and its probability among the languages that are known."""

    code: str
    probability: float


def guess_language(text: str) -> LanguageGuess | None:
    """Return the likely language of a text; None where it has too few words to tell."""
    prose = _NO_PROSE.sub(" ", text)
    words = _WORD.findall(prose.lower().replace("’", "'"))
    if len(words) < _MIN_WORDS and len(_UNSPACED.findall(prose)) < _MIN_LETTERS:
        return None
    code, probability = _language_identifier().classify(prose)
    if code in _NORWEGIAN:
        ranked = dict(_language_identifier().rank(prose))
        return LanguageGuess("no", float(sum(ranked.get(form, 0.0) for form in _NORWEGIAN)))
    if code != "en" and sum(word in _ENGLISH for word in words) * 2 >= len(words):
        return LanguageGuess("en", _MIN_CONFIDENCE)  # half of its words are English: the identifier errs
    return LanguageGuess(str(code), float(probability))


def note_other_languages(texts: Iterable[str], what: str) -> list[str]:
    """Return a note where a tenth of the texts or more do not look English, though something is made for English."""
    looks = [looks_english(text) for text in texts]
    others = looks.count(False)
    if others * 10 < max(len(looks), 1):
        return []
    return [f"{others:,} of {len(looks):,} replies do not look English; {what} (docs/languages.md)."]


def looks_english(text: str) -> bool:
    """Return False where a text is very probably not English; short texts count as English."""
    if not text.isascii():
        letters = [c for c in text if c.isalpha()]
        if sum(c > "\u024f" for c in letters) > len(letters) / 2:  # beyond the Latin letters
            return False
    words = _WORD.findall(text.lower().replace("’", "'"))
    if len(words) < 3 or sum(w in _ENGLISH for w in words) * 4 >= len(words):
        return True
    language, probability = _language_identifier().classify(text)
    return bool(language == "en" or probability < _MIN_CONFIDENCE)


@functools.cache
def _language_identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([label for label in identifier.labels if label in LANGUAGES])
    return identifier
