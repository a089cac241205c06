"""The results of checks for other programs: JUnit XML for build servers, Markdown for a summary or a comment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from rejoinder.comparison.check import CheckResult
from rejoinder.errors import RunError
from rejoinder.files import atomic_write
from rejoinder.table import Cell, Table, format_count, to_markdown

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_check_report(results: Sequence[CheckResult], junit: Path | None, markdown: Path | None) -> None:
    """Write the results of checks to the files that are named."""
    for path, text in ((junit, format_junit), (markdown, format_check_markdown)):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise RunError(f"{path}: cannot be written (there is no folder {path.parent}); choose another file")
        with atomic_write(path) as file:
            file.write(text(results).encode())


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


def format_check_markdown(results: Sequence[CheckResult]) -> str:
    """The results as Markdown: a sentence, and a table with the differences, their intervals and the margins."""
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
    return to_markdown(Table(f"rejoinder check: {verdict}", heads, rows, decimals=4))


def _clean(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)
