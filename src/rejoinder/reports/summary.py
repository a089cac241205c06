"""A run in a few sentences: what was scored, what was found, what people gave, and what to type to get it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.comparison import trust_tables
from rejoinder.reports.findings import Findings
from rejoinder.table import format_count

_SHELL_CHARACTERS = frozenset('"$`\\!')  # what a shell reads within double quotes


def quote_command(words: Sequence[str]) -> str:
    """The words of a command, quoted where they must be; one with quotes in it stands in double quotes, to be read."""
    return " ".join(_quote_word(word) for word in words)


def _quote_word(word: str) -> str:
    if "'" in word and not _SHELL_CHARACTERS & set(word):
        return f'"{word}"'
    return shlex.quote(word)


_KINDS = {
    "dialogue": ("dialogue", "dialogues"),
    "item": ("item", "items"),
    "response": ("reply", "replies"),
    "question": ("question", "questions"),
    "rating": ("rating", "ratings"),
    "preference": ("preference", "preferences"),
}
_MAX_INPUTS = 3
_MAX_OPEN = 2  # metrics under which nothing is sure, each with a sentence of its own


def describe_inputs(findings: Findings) -> str:
    """The names of what was scored."""
    names = [one["name"] for one in findings.about["inputs"]]
    more = f" and {len(names) - _MAX_INPUTS} more" if len(names) > _MAX_INPUTS else ""
    return ", ".join(names[:_MAX_INPUTS]) + more


def describe_records(findings: Findings) -> str:
    """How many records of each kind there are."""
    return ", ".join(format_count(n, *_KINDS.get(kind, (kind, kind))) for kind, n in findings.about["counts"].items())


def describe_run(findings: Findings) -> str:
    """What was scored with what, in one sentence."""
    scores = findings.scores
    return (
        f"{format_count(len(scores), 'reply', 'replies')} of {format_count(len(scores.systems), 'system', 'systems')} to "
        f"{format_count(len(set(scores.items)), 'item', 'items')} {'was' if len(scores) == 1 else 'were'} scored with "
        f"{format_count(len(scores.metrics), 'metric', 'metrics')}."
    )


def verdict_sentences(findings: Findings) -> list[str]:
    """The verdicts in plain words; what would be said again and again is said once."""
    told = [trust_tables.sentence(found) for found in findings.trusts]
    if len(findings.scores.systems) == 1:
        return [f"There is one system ({findings.scores.systems[0]}), so there is nothing to compare it with.", *told]
    compared = findings.comparisons
    open_ = [one.metric for one in compared if one.differences and not any(d.survives for d in one.differences)]
    if len(open_) <= _MAX_OPEN:
        open_ = []
    said = [one.sentence() for one in compared if one.metric not in open_]
    if open_:
        said.append(f"{', '.join(open_)}: no difference between systems survives correction.")
    return said + told


def describe_ratings(findings: Findings) -> str:
    """One line about the judgements in the data, empty where there are none."""
    given = [r for r in findings.data.ratings if r.response is not None]
    whole = len(findings.data.ratings) - len(given)
    told = []
    if given:
        raters, rated = len({r.rater for r in given}), len({r.response for r in given})
        named = ", ".join(dict.fromkeys(r.aspect for r in given))
        told.append(
            f"{format_count(len(given), 'rating', 'ratings')} by {format_count(raters, 'rater', 'raters')} of "
            f"{rated:,} of the {len(findings.scores):,} replies ({named})"
        )
    if whole:
        told.append(f"{format_count(whole, 'rating', 'ratings')} of whole dialogues, which this page does not use")
    if findings.data.preferences:
        told.append(
            f"{format_count(len(findings.data.preferences), 'preference', 'preferences')}, which it does not use"
        )
    return "; ".join(told) + "." if told else ""


def repeat_commands(findings: Findings) -> list[str]:
    """What to type to get this page again."""
    about: Mapping[str, Any] = findings.about
    score = ["rejoinder", "score"]
    names = ["-" if one["name"] == "<stdin>" else one["name"] for one in about["inputs"]]
    score += ["SHARDS"] if "shards" in about else names
    score += [word for spec in findings.scores.metrics for word in ("-m", spec)]
    score += ["--empty", "nan"] if about["empty"] == "nan" else []
    score += ["--matched"] if findings.scores.matched else []
    page = ["rejoinder", "report", "RUN"]
    page += ["--aspect", findings.aspect] if findings.aspect is not None else []
    page += ["--seed", str(findings.seed)] if findings.seed else []
    return [quote_command([*score, "-o", "RUN"]), quote_command(page)]
