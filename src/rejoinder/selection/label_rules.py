"""Rules that suggest error labels for false candidates of English questions, each with its reason in words.

Every rule holds a candidate against the true reply (the first right candidate) and the context. Two texts are *near*
where they share two words and half of all, pronouns and auxiliaries aside (Dice 1945): most of what is retrieved is
near to nothing and simply off the topic, for which there is no label.

- wrong-subject: one sentence, near to the true reply; both have a person as their subject (the speaker, the hearer,
  others), but not the same. Where the true reply has none, the last turn's question says whom an answer is about.
- wrong-tense: one sentence, near to the true reply; one is in the past and the other is not, and the last turn is not
  in the candidate's tense either; both or neither have a person as their subject.
- insufficient: the candidate breaks off after a few words (and then no other rule is asked), or it is no more than two
  words of a true reply that has three times as many.
- inconsistent: one sentence that is near to the true reply and says no for yes, or yes for no; or one that is no
  question, near to the true reply or to a turn which is no question either, and denies something while that does not,
  or names another number, day, month or colour.

How often they are right is measured (``measuring``; docs/selecting.md): they say where to look, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import brief
from rejoinder.selection.accuracy import proportion
from rejoinder.selection.labels import (
    INCONSISTENT,
    INSUFFICIENT,
    LABELS,
    SUBJECT,
    TENSE,
    attach_suggestions,
    find_false_places,
)
from rejoinder.table import Estimate
from rejoinder.text.english import grammar as english
from rejoinder.text.english.grammar import find_expected_subject, find_subject, find_tense
from rejoinder.types import Question

_NEAR = 0.5
_FEW, _FRAGMENT = 6, 2  # words
_BREAKS_OFF = ("...", "…", "--", "-")
_IGNORED_WORDS = (
    english.AUXILIARIES | english.SPEAKER | english.OTHERS | english.NEGATIONS | {"you", "it", "a", "an", "the"}
)
_PERSON_NAMES = {"speaker": "the speaker", "hearer": "the hearer", "others": "somebody else"}
_EXCLUSIVE_GROUPS = (
    frozenset("one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty".split()),
    frozenset("monday tuesday wednesday thursday friday saturday sunday".split()),
    frozenset("january february march april may june july august september october november december".split()),
    frozenset("black white red blue green yellow brown grey gray pink orange purple".split()),
)


def suggest_labels(question: Question) -> Question:
    """The question with suggested labels for its false candidates."""
    truth = question.candidates[min(find_right_candidates(question))].text
    context = [turn.text for turn in question.context]
    return attach_suggestions(
        question,
        {
            place: find_label_reasons(context, truth, question.candidates[place].text)
            for place in find_false_places(question)
        },
    )


def find_label_reasons(context: Sequence[str], truth: str, candidate: str) -> dict[str, str]:
    """Every label that a rule suggests for a candidate, with the reason."""
    words = english.split_words(candidate)
    if candidate.rstrip().endswith(_BREAKS_OFF) and len(words) <= _FEW:
        return {INSUFFICIENT: "it breaks off"}
    whole = english.split_words(truth)
    if len(words) <= _FRAGMENT and set(words) <= set(whole):
        return {INSUFFICIENT: "it is a small part of the true reply"} if len(whole) >= 3 * len(words) else {}
    if len(english.split_english_sentences(candidate)) > 1:
        return {}
    found = {
        INCONSISTENT: _find_inconsistency(context, truth, candidate),
        SUBJECT: _find_wrong_subject(context, truth, candidate),
        TENSE: _find_wrong_tense(context, truth, candidate),
    }
    return {label: reason for label, reason in found.items() if reason}


def _is_near(one: str, other: str) -> bool:
    mine, theirs = _content_stems(one), _content_stems(other)
    return len(mine & theirs) > 1 and 2 * len(mine & theirs) >= _NEAR * (len(mine) + len(theirs))


def _content_stems(text: str) -> frozenset[str]:
    """The words of a text, without endings, pronouns and auxiliaries."""
    return frozenset(map(english.stem, english.split_words(text))) - _IGNORED_WORDS


def _find_wrong_subject(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine = find_subject(candidate)
    theirs = find_subject(truth) or (find_expected_subject(context[-1]) if context else None)
    if mine is None or theirs is None or mine == theirs or not _is_near(truth, candidate):
        return None
    return f"its subject is {_PERSON_NAMES[mine]}; that of the true reply is {_PERSON_NAMES[theirs]}"


def _find_wrong_tense(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine, theirs = find_tense(candidate), find_tense(truth)
    if mine is None or theirs is None or (mine == "past") == (theirs == "past") or not _is_near(truth, candidate):
        return None
    last = english.split_english_sentences(context[-1])[-1:] if context else []
    if (find_subject(candidate) is None) != (find_subject(truth) is None) or (last and find_tense(last[0]) == mine):
        return None
    return f"it is in the {mine}, the true reply in the {theirs}"


def _find_inconsistency(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine, theirs = english.find_answer(candidate), english.find_answer(truth)
    if mine and theirs and mine != theirs and _is_near(truth, candidate):
        return f"it answers {mine}, the true reply {theirs}"
    words = frozenset(english.split_words(candidate))
    for text in (truth, *context[::-1]):
        if candidate.endswith("?") or text.endswith("?") or not _is_near(text, candidate):
            continue
        if english.count_negations(candidate) and not english.count_negations(text):
            return f"it denies what was said: {brief(text)}"
        before = frozenset(english.split_words(text))
        for alike in _EXCLUSIVE_GROUPS:
            if words & alike and before & alike and not words & before & alike:
                return f"it says {min(words & alike)}, and {min(before & alike)} was said"
    return None


class LabelAccuracy(NamedTuple):
    """One label: of those suggested, the share that people gave too (precision), and of those given, the share found.

    ``suggested`` and ``given`` are how many there are of each, ``n`` the false candidates that were looked at.
    """

    label: str
    precision: Estimate
    recall: Estimate
    suggested: int
    given: int
    n: int


def measure_suggestions(questions: Sequence[Question]) -> list[LabelAccuracy]:
    """The rules against the labels of all false candidates, label by label; no label counts as having been looked at.

    Intervals take questions as the unit that varies.
    """
    rows = []
    for number, question in enumerate(questions):
        told = suggest_labels(question)
        for place in find_false_places(question):
            found = told.candidates[place].meta.get("suggested_labels", ())
            rows.append((number, frozenset(question.candidates[place].labels), frozenset(found)))
    return [_measure_label(label, rows) for label in LABELS]


def _measure_label(label: str, rows: Sequence[tuple[int, frozenset[str], frozenset[str]]]) -> LabelAccuracy:
    suggested = [(number, label in given) for number, given, found in rows if label in found]
    given = [(number, label in found) for number, given, found in rows if label in given]
    shares = [proportion([hit for _, hit in some], [number for number, _ in some]) for some in (suggested, given)]
    return LabelAccuracy(label, shares[0], shares[1], len(suggested), len(given), len(rows))
