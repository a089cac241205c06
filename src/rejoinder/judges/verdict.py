"""A verdict in the text of an answer: in an object, after a label, or on a line; or why there is none.

The requested form is one JSON object. Models also write code fences, thoughts, Python and sentences, and all of that is
read, but never guessed: two different verdicts are none. An answer may quote a verdict that somebody wrote into the
reply. So an object on lines of its own counts before one inside a sentence, what is in quotation marks does not count,
and where two different verdicts remain, neither does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from rejoinder.judges.answer_object import AnswerObject, blank_out, find_objects
from rejoinder.judges.completion import Ending

Problem: TypeAlias = Literal[
    "not a chat completion",
    "empty",
    "cut by max_tokens",
    "refusal",
    "no verdict",
    "several verdicts",
    "outside the scale",
    "on another scale",
]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)
Span: TypeAlias = tuple[int, int]


class VerdictCandidate(NamedTuple):
    """What a part of an answer states, or why it states nothing usable; ``alone``: on lines of its own."""

    value: Any
    problem: Problem | None
    span: Span
    alone: bool = False
    quoted: bool = False


_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$|```(?:json|python|\w+(?=\n))?", re.MULTILINE)
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|`[^`\n]*`")
_REFUSAL = re.compile(
    r"\b(?:I(?:'m| am)? (?:can(?:no|')t|can’t|cannot|won't|will not|unable|not able)|I'm sorry|I am sorry"
    r"|I apologi[sz]e"
    r"|as an AI|unable to (?:assist|help|rate|judge|evaluate)|(?:decline|refuse) to)\b",
    re.IGNORECASE,
)


class VerdictForms(NamedTuple):
    """The forms that a verdict may have: keys of an object, patterns in a text, whole lines."""

    keys: tuple[str, ...]
    read_value: Callable[[Any], Any]  # the value under a key: a verdict, a problem, or None
    patterns: Sequence[re.Pattern[str]]
    read_match: Callable[[re.Match[str]], Any]
    read_lines: Callable[[str], Iterator[VerdictCandidate]]


def read_verdict(content: str | None, forms: VerdictForms, ending: Ending | None) -> VerdictCandidate:
    """The verdict of an answer, or why there is none."""
    nowhere = (0, 0)
    if content is None:
        return VerdictCandidate(None, "refusal" if ending == "refusal" else "not a chat completion", nowhere)
    text = _hide_thoughts(content)
    objects = find_objects(text, forms.keys)
    if not _is_one_object(text, objects):
        text = _FENCE.sub(blank_out, text)
        objects = find_objects(text, forms.keys)
    candidates = [_of_object(text, one, forms) for one in objects]
    stated = _choose(text, candidates, list(_find_labelled(text, objects, forms, ending)))
    if stated is None and not candidates:
        lines = [one for one in forms.read_lines(text) if ending != "cut" or one.span[1] < len(text.rstrip())]
        stated = _agree(lines)
    if stated is not None and stated.problem != "no verdict":
        return stated
    return VerdictCandidate(None, _find_problem(content, text, ending), nowhere)


def find_verdicts(text: str, forms: VerdictForms) -> set[Any]:
    """Every verdict that somebody wrote into a text, in an object or after a label, in quotation marks or not."""
    objects = find_objects(text, forms.keys)
    candidates = [*(_of_object(text, one, forms) for one in objects), *_find_labelled(text, objects, forms, None)]
    return {one.value for one in candidates if one.problem is None}


def _find_problem(content: str, text: str, ending: Ending | None) -> Problem:
    if ending == "cut":
        return "cut by max_tokens"
    if ending == "refusal" or _REFUSAL.search(text):
        return "refusal"
    return "no verdict" if content.strip() else "empty"


def _choose(text: str, objects: list[VerdictCandidate], labels: list[VerdictCandidate]) -> VerdictCandidate | None:
    """The verdict among objects and labelled verdicts; two that differ are a problem."""
    alone = [one for one in objects if one.alone]
    inline = [one for one in objects if not one.alone and not one.quoted]
    unquoted = [one for one in labels if not one.quoted]
    if alone:
        last_ends_text = not text[max(one.span[1] for one in alone) :].strip()
        first_starts_text = not text[: min(one.span[0] for one in alone)].strip()
        rivals = [] if last_ends_text else unquoted if first_starts_text else [*unquoted, *inline]
        return _agree([*alone, *rivals])
    own_lines = [one for one in unquoted if one.alone]
    return _agree(own_lines or [*inline, *unquoted])


def _agree(candidates: Sequence[VerdictCandidate]) -> VerdictCandidate | None:
    """What all candidates state."""
    if not candidates:
        return None
    if len({(one.value, one.problem) for one in candidates}) > 1:
        return candidates[0]._replace(value=None, problem="several verdicts")
    return candidates[0]


def _of_object(text: str, one: AnswerObject, forms: VerdictForms) -> VerdictCandidate:
    read = [make_candidate(forms.read_value(value), (one.start, one.end)) for value in one.values]
    found = _agree(read) or VerdictCandidate(None, "no verdict", (one.start, one.end))
    around = text[max(0, one.start - 1) : one.start], text[one.end : one.end + 1]
    quoted = all(side and side in "\"'`“”«»‘’" for side in around)
    return found._replace(alone=_is_alone(text, one.start, one.end), quoted=quoted)


def _find_labelled(
    text: str, objects: Sequence[AnswerObject], forms: VerdictForms, ending: Ending | None
) -> Iterator[VerdictCandidate]:
    for one in objects:
        text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
    stripped = text.strip()
    whole = bool(stripped) and stripped[0] == stripped[-1] and stripped[0] in "`\"'"  # quotes around all of it
    quotations = [] if whole else [match.span() for match in _QUOTED.finditer(text)]
    for pattern in forms.patterns:
        for match in pattern.finditer(text):
            if ending == "cut" and match.end() >= len(text.rstrip()):
                continue  # the number may go on
            value = forms.read_match(match)
            if value is not None:
                group = next((name for name in ("n", "word", "option", "tie") if match.groupdict().get(name)), 0)
                quoted = any(start <= match.start() and match.end() <= end for start, end in quotations)
                yield make_candidate(value, match.span(group))._replace(
                    alone=_is_alone(text, match.start(), match.end()), quoted=quoted
                )


def make_candidate(value: Any, span: Span) -> VerdictCandidate:
    """A candidate for a value that was read: a verdict, a problem, or None."""
    if value is None or value in PROBLEMS:
        return VerdictCandidate(None, value or "no verdict", span)
    return VerdictCandidate(value, None, span)


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether a part of a text has its lines to itself, apart from marks."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)]
    return not before.strip(" \t*_`\"'#>-[(") and not after.strip(" \t*_`\"'.])!;,")


def _is_one_object(text: str, objects: Sequence[AnswerObject]) -> bool:
    return len(objects) == 1 and not (text[: objects[0].start] + text[objects[0].end :]).strip()


def _hide_thoughts(content: str) -> str:
    """The answer without its thoughts, which are replaced by blanks; quotation marks are plain ones."""
    text = content.translate({0x201C: '"', 0x201D: '"', 0x201E: '"'})
    if text.lstrip().startswith("{") and not text.rstrip().endswith(">"):
        return text  # an object, whose reason may speak of such marks
    text = _THOUGHT.sub(blank_out, text)
    ends = list(_THOUGHT_END.finditer(text))  # some servers leave out the mark that begins the thoughts
    return " " * ends[-1].end() + text[ends[-1].end() :] if ends else text
