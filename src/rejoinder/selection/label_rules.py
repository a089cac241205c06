"""Rules that suggest error labels for false candidates of English questions, each with its reason in words.

Every rule compares a candidate with the true reply (the first right candidate) and the context. Two texts are *near* if
they share at least two words and half of all their words, without pronouns and auxiliaries (Dice 1945). Most retrieved
candidates are near to nothing, just off topic, and there is no label for that.

- wrong-subject: one sentence, near to the true reply; both have a person as their subject (the speaker, the hearer,
  others), but not the same one. If the true reply has none, the last turn's question says whom an answer is about.
- wrong-tense: one sentence, near to the true reply; one is in the past and the other is not, and the last turn is not
  in the candidate's tense either; both or neither have a person as their subject.
- insufficient: the candidate breaks off after a few words (then no other rule is tried), or it is one or two words of a
  true reply that has at least three times as many.
- inconsistent: one sentence that is near to the true reply and says no for yes, or yes for no; or a sentence that is
  not a question, near to the true reply or to a turn that is not a question either, and that negates something while
  the other does not, or names another number, day, month or colour.

How often they are right is measured (``measure_suggestions``; docs/selecting.md): they show where to look, no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import brief
from rejoinder.selection.accuracy import proportion_estimate
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
    """Return the question with suggested labels for its false candidates."""
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
    """Return every label that a rule suggests for a candidate, with the reason."""
    words = english.split_english_words(candidate)
    if candidate.rstrip().endswith(_BREAKS_OFF) and len(words) <= _FEW:
        return {INSUFFICIENT: "it breaks off"}
    truth_words = english.split_english_words(truth)
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
    return frozenset(map(english.stem_english_word, english.split_english_words(text))) - _IGNORED_WORDS


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
    words = frozenset(english.split_english_words(candidate))
    for text in (truth, *context[::-1]):
        if candidate.endswith("?") or text.endswith("?") or not _is_near(text, candidate):
            continue
        if english.count_negations(candidate) and not english.count_negations(text):
            return f"it denies what was said: {brief(text)}"
        earlier = frozenset(english.split_english_words(text))
        for group in _EXCLUSIVE_GROUPS:
            if words & group and earlier & group and not words & earlier & group:
                return f"it says {min(words & group)}, and {min(earlier & group)} was said"
    return None


class LabelAccuracy(NamedTuple):
    """One label: the share of suggestions that people gave too (precision), and of given labels that were suggested.

    ``suggested`` and ``given`` are how many there are of each, ``n`` is the number of false candidates.
    """

    label: str
    precision: Estimate
    recall: Estimate
    suggested: int
    given: int
    n: int


def measure_suggestions(questions: Sequence[Question]) -> list[LabelAccuracy]:
    """Compare the rules with the labels of all false candidates, per label; no labels means that none applies.

    Intervals treat questions as the sampling unit.
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
    shares = [
        proportion_estimate([hit for _, hit in pairs], [number for number, _ in pairs]) for pairs in (suggested, labels)
    ]
    return LabelAccuracy(label, shares[0], shares[1], len(suggested), len(labels), len(rows))
