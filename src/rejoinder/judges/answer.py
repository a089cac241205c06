"""A judge's answer, read: the score or the choice that it states, or why none can be read.

A score may be "4", "4/5", "Rating: 4", "3.5", or a word of the rubric's scale. One outside the scale, or on another
scale ("8/10" where the highest is 5), is not read: nothing is converted.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rejoinder.judges.completion import Ending
from rejoinder.judges.rubric import Rubric
from rejoinder.judges.verdict import (
    Problem,
    Span,
    VerdictCandidate,
    VerdictForms,
    find_verdicts,
    make_candidate,
    read_verdict,
)
from rejoinder.types import Choice

VERSION = 2  # of the reading: another one may give another score to the same answer


class ScoreReading(NamedTuple):
    """The score of an answer and where its number is in the text, or why there is none."""

    score: float | None
    problem: Problem | None = None
    span: Span | None = None


class ChoiceReading(NamedTuple):
    """The choice of an answer, or why there is none."""

    choice: Choice | None
    problem: Problem | None = None


_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_N = rf"[-+]?\d+(?:\.\d+)?|{'|'.join(_NUMBER_WORDS)}"
# A number that is not part of a word, a date, a version or a longer number: with what follows it of a scale or a range.
_NUMBER = (
    rf"(?<![\w.,/])(?P<n>{_N})(?![\w]|[.,]\d)(?:[*_`\"']{{0,9}}\s{{0,9}}(?:/|out\s+of|of)\s*[*_`\"']*(?P<of>{_N})(?![\w]|[.,]\d))?"
    r"(?:\s*(?P<percent>%)|\s*(?:-|–|—|\bto\b|\bor\b)\s*(?P<until>\d+))?"
)
# What may follow a number that is a score; a noun may not ("gives it 3 reasons").
_AFTER = (
    r"(?=[*_`\"'\])]{0,9}\s{0,9}"
    r"(?:$|[.,;:!?()\]}\n|—–-]|stars?\b|points?\b|because\b|since\b|as\b|for\b|and\b|but\b))"
)
_LABEL = r"(?:score|rating|grade|verdict)"
_MARKS = r"[*_`\"'\s]{0,20}"
_LABELLED = (
    rf"\b{_LABEL}\b{_MARKS}(?:(?:\([^()\n]{{0,40}}\)|(?:for|of)\s+(?:the|this)\s+(?:reply|response)){_MARKS})?"
    rf"(?:[:=]|->|→|–|—|-\s|\bis\b|\bwould be\b|\bof\b)[*_`\"'\s\[(]{{0,20}}(?:an?\s+)?[*_`\"'\[(]{{0,9}}"
)
_I_GIVE = (
    r"\b(?:I(?:'d|’d|'ll| would| will)?\s+(?:rate|give|assign|award|score)|deserves)\b[^.\n\d]{0,40}?\s[*_`\"']{0,9}"
)
_LADDER = (
    ("very bad", "very poor", "terrible", "awful"),
    ("bad", "poor"),
    ("fair", "average", "okay", "ok", "mediocre", "acceptable"),
    ("good",),
    ("excellent", "very good", "perfect", "outstanding"),
)


def read_score(content: str | None, rubric: Rubric, ending: Ending | None = None) -> ScoreReading:
    """The score that an answer states on the scale of a rubric."""
    found = read_verdict(content, _score_forms(rubric), ending)
    return ScoreReading(found.value, found.problem, found.span)


def find_written_scores(reply: str, rubric: Rubric) -> set[float]:
    """The scores that somebody wrote into a reply as a verdict: "Rating: 5", or an object with a score.

    "4/5" alone is none: it may be a fraction, or a date.
    """
    forms = _score_forms(rubric)
    return find_verdicts(reply, forms._replace(patterns=[*forms.patterns[:2], *forms.patterns[3:]]))


def _score_forms(rubric: Rubric) -> VerdictForms:
    words, patterns = _score_patterns(rubric)

    def read_match(match: re.Match[str]) -> Any:
        fields = match.groupdict()
        return words.get(_plain(fields["word"])) if fields.get("word") else _read_number(match, rubric)

    def read_value(value: Any) -> Any:
        return _read_score_value(value, rubric, words)

    def read_lines(text: str) -> Iterator[VerdictCandidate]:
        return _read_score_lines(text, rubric, words)

    return VerdictForms(("score", "rating", "grade"), read_value, patterns, read_match, read_lines)


def read_choice(content: str | None, ending: Ending | None = None) -> ChoiceReading:
    """The choice between two replies that an answer states."""
    forms = VerdictForms(
        ("better", "winner", "choice", "preferred", "preference", "best", "verdict", "answer"),
        lambda value: _read_option(str(value)) if type(value) in (str, int) else None,
        _CHOICE_PATTERNS,
        lambda match: "tie" if match.groupdict().get("tie") else _read_option(match["option"]),
        _read_choice_lines,
    )
    found = read_verdict(content, forms, ending)
    return ChoiceReading(found.value, found.problem)


@functools.lru_cache(maxsize=64)
def _score_patterns(rubric: Rubric) -> tuple[dict[str, float], list[re.Pattern[str]]]:
    """The words of a scale, and the patterns of a score in a sentence."""
    words = _scale_words(rubric)
    numbers = (_LABELLED, _I_GIVE, rf"(?<![\w.,/])(?=(?:{_N})\s{{0,9}}(?:/|out\s+of)\s{{0,9}}\w)")
    patterns = [before + _NUMBER + _AFTER for before in numbers]
    if words:
        either = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))
        patterns.append(rf"{_LABELLED}(?P<word>{either}){_AFTER}")
    return words, [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


def _scale_words(rubric: Rubric) -> dict[str, float]:
    """The words for the levels of a scale: its anchors and what stands first in them; else the usual five."""
    pairs = [(_plain(part), level) for level, text in rubric.anchors for part in (text, re.split(r"[:;,(]", text)[0])]
    if not rubric.anchors and len(rubric.levels) == len(_LADDER):
        pairs = [(word, level) for level, step in zip(rubric.levels, _LADDER, strict=True) for word in step]
    levels: dict[str, set[int]] = {}
    for word, level in pairs:
        levels.setdefault(word, set()).add(level)
    return {word: float(min(of_word)) for word, of_word in levels.items() if len(of_word) == 1 and word}


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!*_`\"'()[]")


def _read_score_value(value: Any, rubric: Rubric, words: dict[str, float]) -> Any:
    if type(value) in (int, float):
        return _check_scale(value, rubric)
    if not isinstance(value, str):
        return None
    text = value.strip(" \t\n*_`\"'")
    if re.fullmatch(r"\d+,\d+", text):
        text = text.replace(",", ".")
    match = re.match(_NUMBER + _AFTER, text, re.IGNORECASE)
    return _read_number(match, rubric) if match else words.get(_plain(text))


def _read_number(match: re.Match[str], rubric: Rubric) -> Any:
    if match["until"]:
        return "several verdicts"
    whole = _to_number(match["of"]) if match["of"] else 100.0 if match["percent"] else None
    if whole is not None and whole != rubric.high:
        return "on another scale"
    return _check_scale(_to_number(match["n"]), rubric)


def _to_number(text: str) -> float:
    word = text.lower()
    return float(_NUMBER_WORDS.index(word)) if word in _NUMBER_WORDS else float(text)


def _check_scale(number: float, rubric: Rubric) -> Any:
    if isinstance(number, float) and math.isnan(number):
        return None
    return float(number) if rubric.low <= number <= rubric.high else "outside the scale"


_BEFORE = r"[ \t*_`\"'\[(#>]{0,9}"
_NUMBER_LINE = re.compile(
    rf"{_BEFORE}(?:-\s+)?[*_`\"']{{0,9}}{_NUMBER}(?:\s*(?:stars?|points?))?[ \t*_`\"'\])!.]{{0,9}}", re.IGNORECASE
)
_NUMBER_FIRST = re.compile(
    rf"{_BEFORE}{_NUMBER}[*_`\"'\])]{{0,9}}(?=\s*[:,(—–]|\s+-\s|\s+(?:because|since|as)\b)", re.IGNORECASE
)


def _read_score_lines(text: str, rubric: Rubric, words: dict[str, float]) -> Iterator[VerdictCandidate]:
    """The lines that are a score and nothing else, and a score that a first line begins with."""
    position, is_first = 0, True
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        if not line.strip():
            continue
        match = _NUMBER_LINE.fullmatch(line.rstrip()) or (_NUMBER_FIRST.match(line) if is_first else None)
        word = _plain(line) if _plain(line) in words else _plain(re.split(r"[:.—–]|\s-\s", line)[0])
        if match:
            yield make_candidate(_read_number(match, rubric), (start + match.start("n"), start + match.end("n")))
        elif is_first and word in words:
            yield make_candidate(words[word], (start, start + len(line.rstrip())))
        is_first = False


_REPLY = r"(?:reply|response|answer|assistant|option|candidate|model|output|text|one)"
_OPTION = (
    rf"(?:the\s+)?(?:{_REPLY}\s+)?[*_`\"'\[(]{{0,9}}(?:first|second|1st|2nd|[ab12])\b[*_`\"'\])]{{0,9}}(?:\s+{_REPLY})?"
)
_CHOICE_PATTERNS = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\[\[(?:(?P<tie>c|tie)|(?P<option>[ab]))\]\]",
        rf"\b(?:better|winner|choice|preferred|preference|verdict|answer|best)\b(?:\s+{_REPLY})?[*_`\"'\s]{{0,9}}"
        rf"(?:[:=]|->|→|\bis\b)[*_`\"'\s]{{0,9}}(?:(?P<tie>tie|draw|equal|both|neither)\b|(?P<option>{_OPTION}))(?!\w)",
        rf"\b(?P<option>(?:the\s+)?(?:{_REPLY}\s+(?:first|second|[ab12])|(?:first|second)(?:\s+{_REPLY})?|(?-i:[AB])))\b"
        r"[*_`\"']*\s+(?:is|was|seems)\s+(?:\w+ly\s+|much\s+|far\s+|the\s+|a\s+bit\s+)*(?:better|best|superior|stronger"
        r"|preferable|preferred|winner)\b",
        rf"\bI(?:'d|’d| would)?\s+(?:prefer|choose|pick)\s+(?P<option>{_OPTION})(?!\w)",
        r"(?P<tie>\b(?:it is|it's|call it|this is)\s+a\s+(?:tie|draw)\b|\bboth\b[^.\n]{0,30}\bequal(?:ly)?\b"
        r"|\bequally\s+(?:good|bad)\b|\bneither\b[^.\n]{0,20}\b(?:is|are)\s+better\b)",
    )
]
_TIES = {"tie", "tied", "a tie", "draw", "equal", "both", "both equal", "equally good", "neither", "same", "the same"}


def _read_option(phrase: str) -> Choice | None:
    text = _plain(phrase)
    if text in _TIES or text in {"both are equal", "both replies", "they are equal", "both equally good"}:
        return "tie"
    if not re.fullmatch(_OPTION, text):
        return None
    bare = re.search(r"first|second|1st|2nd|\b[ab12]\b", text)
    return "first" if bare and bare[0] in {"first", "1st", "a", "1"} else "second"


def _read_choice_lines(text: str) -> Iterator[VerdictCandidate]:
    position = 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        choice = _read_option(line)
        if choice is not None:
            yield make_candidate(choice, (start, start + len(line.rstrip())))
