"""Redaction: e-mail addresses, phone numbers, handles, links and long numbers in texts are replaced by marks.

It works on patterns: names, street addresses and what is spelled out ("at example dot com") stay. A mark says what it
replaced, so that a reply can still be judged.
"""

from __future__ import annotations

import re

from rejoinder.types import Turn

_ADDRESS = r"[\w.+%'-]{1,64}@[\w-]+(?:\.[\w-]+)+"
_LINK = r"\b(?:https?|ftp)://[^\s<>\"]+|\bwww\.[^\s<>\"]+"
_ANOTHER = r"@\w[\w.]*\w|/?u/[\w-]{3,}"
# Several handles with nothing in between count as one.
_HANDLE = rf"(?:(?<![\w@/.])@\w[\w.]*\w|(?<![\w/])/?u/[\w-]{{3,}})(?:{_ANOTHER})*"
_DATE = r"(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})(?!\d|[-./]\d)"
# Seven to fifteen digits, in groups, or after a plus; but not a date.
_PHONE = rf"(?<![\w.,:/-])(?!{_DATE})(?:\+\d|\(\d|\d(?=\d*[ ()./-]))(?:[ ()./-]{{0,2}}\d){{6,14}}(?!\w|[.,:]\d)"
_GROUPS = r"(?<![\w.,+-])\d(?:[ -]?\d){11,18}(?!\w)"  # as on a card
_ACCOUNT = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"  # IBAN
_RUN = r"\d{6,}"
# In this order: a link may contain what looks like an address, a card number what looks like a phone number.
KINDS: dict[str, tuple[re.Pattern[str], str]] = {
    "link": (re.compile(_LINK, re.IGNORECASE), "[link]"),
    "email": (re.compile(_ADDRESS), "[e-mail]"),
    "handle": (re.compile(_HANDLE), "[handle]"),
    "number": (re.compile(f"{_ACCOUNT}|{_GROUPS}"), "[number]"),
    "phone": (re.compile(_PHONE), "[phone]"),
}
_LONG_RUN = re.compile(_RUN)
# Speaker names that identify nobody.
_GENERIC_SPEAKERS = {"user", "assistant", "system", "human", "bot", "agent", "customer", "speaker"}


def redact_text(text: str, kinds: frozenset[str]) -> str:
    """Return the text with marks in place of everything of these kinds (keys of KINDS)."""
    while (redacted := _redact_once(text, kinds)) != text:  # what was next to a number or a link may match only now
        text = redacted
    return text


def _redact_once(text: str, kinds: frozenset[str]) -> str:
    for kind, (pattern, mark) in KINDS.items():
        if kind in kinds:
            text = pattern.sub(mark, text)
    return _LONG_RUN.sub("[number]", text) if "number" in kinds else text


def redact_turns(turns: tuple[Turn, ...], kinds: frozenset[str]) -> tuple[Turn, ...]:
    """Return turns with redacted texts; if anything is to be redacted, named speakers are numbered."""
    if not kinds:
        return turns
    numbers: dict[str, str] = {}
    return tuple(Turn(redact_text(t.text, kinds), _redact_speaker(t.speaker, numbers)) for t in turns)


def _redact_speaker(name: str | None, numbers: dict[str, str]) -> str | None:
    if name is None or len(name) == 1 or name.casefold() in _GENERIC_SPEAKERS:
        return name
    return numbers.setdefault(name, f"speaker {len(numbers) + 1}")
