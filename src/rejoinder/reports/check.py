"""The results of checks for other programs: JUnit XML for build servers, Markdown for a summary or a comment."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from rejoinder.comparison.check import CheckResult
from rejoinder.comparison.worse_replies import WorseReply
from rejoinder.errors import RunError
from rejoinder.escape import escape_html, replace_control_characters
from rejoinder.files import atomic_write
from rejoinder.table import Cell, Table, format_cell, format_count, to_markdown

_MENTION = re.compile(r"@(?=\w)")
_MAX_TEXT = 2000  # characters of a context or a reply: a comment has a limit
_LINE = 100  # characters: code is not wrapped by those who show it
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_check_report(
    results: Sequence[CheckResult], junit: Path | None, markdown: Path | None, worse: Sequence[WorseReply] = ()
) -> None:
    """Write the results of checks to the files that are named; Markdown also shows replies that got worse."""
    formats: list[tuple[Path | None, Callable[[Sequence[CheckResult]], str]]] = [
        (junit, format_junit),
        (markdown, partial(format_check_markdown, worse=worse)),
    ]
    for path, format_results in formats:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise RunError(f"{path}: cannot be written (there is no folder {path.parent}); choose another file")
        with atomic_write(path) as file:
            file.write(format_results(results).encode())


def format_junit(results: Sequence[CheckResult]) -> str:
    """The results as JUnit XML: one test case per check; an inconclusive one that is allowed is skipped."""
    failed = sum(not one.passed for one in results)
    skipped = sum(one.passed and one.outcome == "inconclusive" for one in results)
    counts = {"tests": str(len(results)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "rejoinder check", **counts})
    for one in results:
        kind = "no worse" if one.difference is not None or not one.metric else "threshold"
        name = f"{one.metric or 'replies'} of {one.system}: {kind}"
        names = {"classname": "rejoinder.check", "name": name}
        case = ElementTree.SubElement(suite, "testcase", {key: _clean(value) for key, value in names.items()})
        reason = {"message": _clean(one.reason)}
        if not one.passed:
            ElementTree.SubElement(case, "failure", {**reason, "type": one.outcome})
        elif one.outcome == "inconclusive":
            ElementTree.SubElement(case, "skipped", reason)
        else:
            ElementTree.SubElement(case, "system-out").text = reason["message"]
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def format_check_markdown(results: Sequence[CheckResult], worse: Sequence[WorseReply] = ()) -> str:
    """The results as Markdown: a sentence, a table with the differences, their intervals and the margins, and the
    replies that got worse most, each folded."""
    failed = sum(one.outcome == "fail" for one in results)
    inconclusive = sum(one.outcome == "inconclusive" for one in results)
    if failed:
        verdict = f"fail: {format_count(failed, 'check')} of {len(results)} failed"
    elif inconclusive:
        allowed = ", which is allowed here" if all(one.passed for one in results) else ""
        verdict = f"inconclusive: {inconclusive} of {len(results)} checks could not be decided{allowed}"
    else:
        verdict = f"pass: {format_count(len(results), 'check')} passed"
    rows: list[list[Cell]] = [
        [one.outcome, one.metric or None, one.system, one.difference, one.margin, one.why or one.reason]
        for one in results
    ]
    heads = ["outcome", "metric", "system", "difference", "margin", "reason"]
    table = to_markdown(Table(f"rejoinder check: {verdict}", heads, rows, decimals=4))
    return _hide_mentions(table) + ("\n" + format_worse_replies(worse) if worse else "")


def format_worse_replies(worse: Sequence[WorseReply]) -> str:
    """The replies that got worse most, as Markdown for a comment: one line each, the texts folded below it."""
    parts = ["#### The replies that got worse most", ""]
    for number, one in enumerate(worse, start=1):
        metric, old, new = one.scores[0]
        names = [f"<code>{escape_html(' '.join(name.split()))}</code>" for name in (one.system, one.item, metric)]
        change = f"{names[2]} {format_cell(old)} → {format_cell(new)}"
        parts += ["<details>", f"<summary>{number}. {names[0]} on {names[1]}: {change}</summary>", ""]
        for title, text in (("Context", one.context), ("Old reply", one.old_reply), ("New reply", one.new_reply)):
            parts += [f"{title}:", "", *_fence(text), ""]
        rows: list[list[Cell]] = [[*score, score[2] - score[1]] for score in one.scores]
        table = to_markdown(Table("", ["metric", "old", "new", "change"], rows)).partition("\n\n")[2]
        parts += [_hide_mentions(table), "</details>", ""]
    return "\n".join(parts)


def _fence(text: str) -> list[str]:
    """A text in lines that Markdown shows unchanged, with no links and no mentions: code between two fences."""
    text = replace_control_characters(text.strip())
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT - 1] + "…"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, _LINE, break_long_words=False) or [""]]
    return [f"{fence}text", *lines, fence]


def _hide_mentions(markdown: str) -> str:
    """Markdown in which no name becomes a mention that notifies somebody."""
    return _MENTION.sub("@<!-- -->", markdown)


def _clean(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
