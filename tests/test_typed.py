"""Commands that a page tells its reader to type."""

from __future__ import annotations

import shlex

import pytest

from rejoinder.reports.summary import quote_command


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["rejoinder", "score", "chats.jsonl"], "rejoinder score chats.jsonl"),
        (["-m", "aptness(model='bi')"], """-m "aptness(model='bi')\""""),
        (["my file.jsonl"], "'my file.jsonl'"),
        (["it's $5"], """'it'"'"'s $5'"""),
    ],
)
def test_a_command_reads_well_and_a_shell_reads_the_same(words: list[str], shown: str) -> None:
    assert quote_command(words) == shown
    assert shlex.split(shown) == words
