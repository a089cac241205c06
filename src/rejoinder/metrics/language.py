"""Language: whether a reply is written in the language that it should be; a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from rejoinder.errors import SpecError, nearest
from rejoinder.metric import NAN, Metric
from rejoinder.text.language import LANGUAGES, guess_language
from rejoinder.types import Pair

_SURE_OF_IT = 0.6
_SURE_OF_ANOTHER = 0.85  # to say that a reply breaks the rule takes more


@dataclass(frozen=True)
class Language(Metric):
    """1 where a reply is in the language 'code', 0 where it is in another; NaN where it is too short to tell.

    A reply of fewer than three words (four letters, in a script without spaces) has no score, and neither has one
    whose language is unclear: names, numbers, two related languages. Code and addresses are not read. By py3langid.
    """

    code: str = "en"

    citation = "a rule; Lui and Baldwin 2012, langid.py: An Off-the-shelf Language Identification Tool"
    is_rule = True

    def __post_init__(self) -> None:
        if self.code not in LANGUAGES:
            raise SpecError(f"language: code {self.code!r} is not known; {nearest(self.code, sorted(LANGUAGES))}")

    def details(self) -> dict[str, str]:
        """Return the version of the identifier."""
        return {"py3langid": version("py3langid")}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether each response is in the language."""
        return [self._score_text(pair.response.text) for pair in pairs]

    def _score_text(self, text: str) -> float:
        guess = guess_language(text)
        if guess is None:
            return NAN
        if guess.code == ("no" if self.code in ("nb", "nn") else self.code):
            return 1.0 if guess.probability >= _SURE_OF_IT else NAN
        return 0.0 if guess.probability >= _SURE_OF_ANOTHER else NAN
