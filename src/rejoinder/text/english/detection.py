"""Whether a text looks English: by its letters, its common words, and else a language identifier."""

from __future__ import annotations

import functools
import re
from typing import Any

# Common words of English conversation that no other language shares (so not "me", "no", "do", "so", "in"): a reply with
# a good share of them is taken as English.
_ENGLISH = frozenset(
    """about and are been but by can could did does don't for from get good have her here him his how i i'd i'll i'm
    i've if it it's its just know let like my not now oh okay our out really she should some sure than thank thanks that
    that's the their them then there they think this time to too up us very want we well were what what's when where
    which who why will with would yeah yes you you're your""".split()
)
# py3langid knows 139 languages, too many for one sentence; among these it is fairly reliable.
_LANGUAGES = frozenset(
    """en de fr es pt it nl sv da no nb nn fi pl cs sk hu ro bg el tr ru uk sr hr sl lt lv et ar fa he hi bn ur ta te th
    vi id ms tl sw zh ja ko""".split()
)
_MIN_CONFIDENCE = 0.6
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


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
    identifier.set_languages([label for label in identifier.labels if label in _LANGUAGES])
    return identifier
