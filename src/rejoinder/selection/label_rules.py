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
    truth_words = english.split_words(truth)
    if len(words) <= _FRAGMENT and set(words) <= set(truth_words):
        return {INSUFFICIENT: "it is a small part of the true reply"} if len(truth_words) >= 3 * len(words) else {}
    if len(english.split_english_sentences(candidate)) > 1:
        return {}
    reasons = {
        INCONSISTENT: _find_inconsistency(context, truth, candidate),
        SUBJECT: _find_wrong_subject(context, truth, candidate),
        TENSE: _find_wrong_tense(context, truth, candidate),
    }
    return {label: reason for label, reason in reasons.items() if reason}


def _is_near(first: str, second: str) -> bool:
    first_stems, second_stems = _content_stems(first), _content_stems(second)
    return len(first_stems & second_stems) > 1 and 2 * len(first_stems & second_stems) >= _NEAR * (
        len(first_stems) + len(second_stems)
    )


def _content_stems(text: str) -> frozenset[str]:
    """The words of a text, without endings, pronouns and auxiliaries."""
    return frozenset(map(english.stem, english.split_words(text))) - _IGNORED_WORDS


def _find_wrong_subject(context: Sequence[str], truth: str, candidate: str) -> str | None:
    subject = find_subject(candidate)
    true_subject = find_subject(truth) or (find_expected_subject(context[-1]) if context else None)
    if subject is None or true_subject is None or subject == true_subject or not _is_near(truth, candidate):
        return None
    return f"its subject is {_PERSON_NAMES[subject]}; that of the true reply is {_PERSON_NAMES[true_subject]}"


def _find_wrong_tense(context: Sequence[str], truth: str, candidate: str) -> str | None:
    tense, true_tense = find_tense(candidate), find_tense(truth)
    if (
        tense is None
        or true_tense is None
        or (tense == "past") == (true_tense == "past")
        or not _is_near(truth, candidate)
    ):
        return None
    last = english.split_english_sentences(context[-1])[-1:] if context else []
    if (find_subject(candidate) is None) != (find_subject(truth) is None) or (last and find_tense(last[0]) == tense):
        return None
    return f"it is in the {tense}, the true reply in the {true_tense}"


def _find_inconsistency(context: Sequence[str], truth: str, candidate: str) -> str | None:
    answer, true_answer = english.find_answer(candidate), english.find_answer(truth)
    if answer and true_answer and answer != true_answer and _is_near(truth, candidate):
        return f"it answers {answer}, the true reply {true_answer}"
    words = frozenset(english.split_words(candidate))
    for text in (truth, *context[::-1]):
        if candidate.endswith("?") or text.endswith("?") or not _is_near(text, candidate):
            continue
        if english.count_negations(candidate) and not english.count_negations(text):
            return f"it denies what was said: {brief(text)}"
        earlier = frozenset(english.split_words(text))
        for group in _EXCLUSIVE_GROUPS:
            if words & group and earlier & group and not words & earlier & group:
                return f"it says {min(words & group)}, and {min(earlier & group)} was said"
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
        with_suggestions = suggest_labels(question)
        for place in find_false_places(question):
            suggestions = with_suggestions.candidates[place].meta.get("suggested_labels", ())
            rows.append((number, frozenset(question.candidates[place].labels), frozenset(suggestions)))
    return [_measure_label(label, rows) for label in LABELS]


def _measure_label(label: str, rows: Sequence[tuple[int, frozenset[str], frozenset[str]]]) -> LabelAccuracy:
    suggested = [(number, label in labels) for number, labels, suggestions in rows if label in suggestions]
    labels = [(number, label in suggestions) for number, labels, suggestions in rows if label in labels]
    shares = [proportion([hit for _, hit in pairs], [number for number, _ in pairs]) for pairs in (suggested, labels)]
    return LabelAccuracy(label, shares[0], shares[1], len(suggested), len(labels), len(rows))
