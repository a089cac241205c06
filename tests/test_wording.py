"""Texts that users read: plain English, without the turns of phrase that we have dropped."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from wording import Text, collect_texts  # noqa: E402

UNITS = (
    "reply|replies|response|item|text|line|row|turn|dialogue|conversation|context|question|candidate|system|metric|corpus"
    "|pair|token|word|step|file|shard|task|process|core|person|rater|worker|second|minute|hour|day|page|request|fold|seed"
    "|place|set|node|part|unit|batch|speaker|class|score|rating|column|machine"
)
LINKS = (
    r"(?:of|or|and|in|on|as|by|to|for|from|with|without|than|like|is|has|after|before)\b"  # before "a", they are right
)
# What is looked for, and what to write instead.
DROPPED = {
    rf"\b(?:a|one|two|three|\d+|\{{\}}) (?:\w+ )?(?!{LINKS})\w+s? an? (?:{UNITS})\b"
    r"(?! (?:is|was|has|can|may|that|which|of|in|with|to)\b)": "per",
    r"(?<!here )\bis no (?!longer|more|less|better|worse|larger|smaller|other|doubt|need|reason|way|one)\w+": "is not",
    r"\b(?:not to be had|(?:can(?:not)?|could(?: not)?) be had|to be had)\b": "is not available, could not be found",
    r"\bdraw(?:n|s|ing)? again\b": "resampled, resampling",
    r"\w+ less \{\}|\b[A-Z]\w+ less [A-Z]": "minus",
    r"\bnothing to let go of\b": "nothing to release",
    r"\b(?:of|by) its own accord\b": "on its own",
    r"\bas yet\b|\bthereof\b|\btherein\b|\bwherein\b|\bthereby\b|\bhitherto\b|\bwhereupon\b": "current words",
    r"(?<!the and )\bbut for\b": "except for",
    r"\b(?:anew|afresh)\b": "again",
    r"\bone types\b|\bwhat one\b": "you ...",
    r"\blet (?:it|them) be\b|\bmay well\b|\bwhence\b|\bwherefore\b": "current words",
    r"\bwell-kept\b": "well maintained",
}


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    return list(collect_texts())


@pytest.mark.parametrize("pattern", DROPPED)
def test_no_text_uses_what_we_dropped(pattern: str, texts: list[Text]) -> None:
    matches = [f"{one.file}:{one.line}: {one.text}" for one in texts if re.search(pattern, one.text)]
    assert not matches, f"write {DROPPED[pattern]!r} instead:\n" + "\n".join(matches)


def test_the_list_holds_messages_templates_and_documents(texts: list[Text]) -> None:
    files = {one.file for one in texts}
    assert {"README.md", "docs/design.md", "src/rejoinder/errors.py"} <= files
    assert any(file.endswith(".html") for file in files)
