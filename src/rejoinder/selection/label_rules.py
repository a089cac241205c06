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

from rejoinder.data.questions import right
from rejoinder.errors import brief
from rejoinder.selection.labels import INCONSISTENT, INSUFFICIENT, SUBJECT, TENSE, false_places, with_suggestions
from rejoinder.text.english import words as english
from rejoinder.text.english.subjects import expected_subject, subject
from rejoinder.text.english.tenses import tense
from rejoinder.types import Question

_NEAR = 0.5
_FEW, _FRAGMENT = 6, 2  # words
_BREAKS_OFF = ("...", "…", "--", "-")
_UNTOLD = english.AUXILIARIES | english.SPEAKER | english.OTHERS | english.NEGATIONS | {"you", "it", "a", "an", "the"}
_WHOM = {"speaker": "the speaker", "hearer": "the hearer", "others": "somebody else"}
_ALIKE = (
    frozenset("one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty".split()),
    frozenset("monday tuesday wednesday thursday friday saturday sunday".split()),
    frozenset("january february march april may june july august september october november december".split()),
    frozenset("black white red blue green yellow brown grey gray pink orange purple".split()),
)


def suggest(question: Question) -> Question:
    """The question with suggested labels for its false candidates."""
    truth = question.candidates[min(right(question))].text
    context = [turn.text for turn in question.context]
    return with_suggestions(
        question, {place: reasons(context, truth, question.candidates[place].text) for place in false_places(question)}
    )


def reasons(context: Sequence[str], truth: str, candidate: str) -> dict[str, str]:
    """Every label that a rule suggests for a candidate, with the reason."""
    words = english.words_of(candidate)
    if candidate.rstrip().endswith(_BREAKS_OFF) and len(words) <= _FEW:
        return {INSUFFICIENT: "it breaks off"}
    whole = english.words_of(truth)
    if len(words) <= _FRAGMENT and set(words) <= set(whole):
        return {INSUFFICIENT: "it is a small part of the true reply"} if len(whole) >= 3 * len(words) else {}
    if len(english.sentences_of(candidate)) > 1:
        return {}
    found = {
        INCONSISTENT: _inconsistent(context, truth, candidate),
        SUBJECT: _wrong_subject(context, truth, candidate),
        TENSE: _wrong_tense(context, truth, candidate),
    }
    return {label: reason for label, reason in found.items() if reason}


def _near(one: str, other: str) -> bool:
    mine, theirs = _bare(one), _bare(other)
    return len(mine & theirs) > 1 and 2 * len(mine & theirs) >= _NEAR * (len(mine) + len(theirs))


def _bare(text: str) -> frozenset[str]:
    """The words of a text, without endings, pronouns and auxiliaries."""
    return frozenset(map(english.stem, english.words_of(text))) - _UNTOLD


def _wrong_subject(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine = subject(candidate)
    theirs = subject(truth) or (expected_subject(context[-1]) if context else None)
    if mine is None or theirs is None or mine == theirs or not _near(truth, candidate):
        return None
    return f"its subject is {_WHOM[mine]}; that of the true reply is {_WHOM[theirs]}"


def _wrong_tense(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine, theirs = tense(candidate), tense(truth)
    if mine is None or theirs is None or (mine == "past") == (theirs == "past") or not _near(truth, candidate):
        return None
    last = english.sentences_of(context[-1])[-1:] if context else []
    if (subject(candidate) is None) != (subject(truth) is None) or (last and tense(last[0]) == mine):
        return None
    return f"it is in the {mine}, the true reply in the {theirs}"


def _inconsistent(context: Sequence[str], truth: str, candidate: str) -> str | None:
    mine, theirs = english.answer(candidate), english.answer(truth)
    if mine and theirs and mine != theirs and _near(truth, candidate):
        return f"it answers {mine}, the true reply {theirs}"
    words = frozenset(english.words_of(candidate))
    for text in (truth, *context[::-1]):
        if candidate.endswith("?") or text.endswith("?") or not _near(text, candidate):
            continue
        if english.negations(candidate) and not english.negations(text):
            return f"it denies what was said: {brief(text)}"
        before = frozenset(english.words_of(text))
        for alike in _ALIKE:
            if words & alike and before & alike and not words & before & alike:
                return f"it says {min(words & alike)}, and {min(before & alike)} was said"
    return None
