"""A run in a few sentences: what was scored, the verdicts, the ratings, and the commands that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.comparison import trust_tables
from rejoinder.comparison.judgements import describe_raters
from rejoinder.reports.findings import RunFindings
from rejoinder.table import format_count, list_names

_SHELL_CHARACTERS = frozenset('"$`\\!')  # what a shell reads within double quotes


def quote_command(words: Sequence[str]) -> str:
    """The words of a command, quoted where needed; a word with single quotes goes in double quotes, to be readable."""
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
_MAX_OPEN = 2  # undecided metrics that get a sentence each


def describe_inputs(findings: RunFindings) -> str:
    """The names of the inputs."""
    return list_names([one["name"] for one in findings.about["inputs"]], _MAX_INPUTS)


def describe_records(findings: RunFindings) -> str:
    """How many records of each kind there are."""
    return ", ".join(format_count(n, *_KINDS.get(kind, (kind, kind))) for kind, n in findings.about["counts"].items())


def describe_run(findings: RunFindings) -> str:
    """What was scored with what, in one sentence."""
    scores = findings.scores
    return (
        f"{format_count(len(scores), 'reply', 'replies')} of {format_count(len(scores.systems), 'system')} to "
        f"{format_count(len(set(scores.items)), 'item')} {'was' if len(scores) == 1 else 'were'} scored with "
        f"{format_count(len(scores.metrics), 'metric')}."
    )


def verdict_sentences(findings: RunFindings) -> list[str]:
    """The verdicts in plain words, without repetition."""
    advice = [trust_tables.trust_advice(trust) for trust in findings.trusts]
    if len(findings.scores.systems) == 1:
        return [
            f"There is only one system ({findings.scores.systems[0]}), so there is nothing to compare it with.",
            *advice,
        ]
    comparisons = findings.comparisons
    undecided = [
        comparison.metric
        for comparison in comparisons
        if comparison.differences and not any(d.survives for d in comparison.differences)
    ]
    if len(undecided) <= _MAX_OPEN:
        undecided = []
    sentences = [comparison.sentence() for comparison in comparisons if comparison.metric not in undecided]
    if undecided:
        sentences.append(f"{', '.join(undecided)}: no difference between systems survives correction.")
    return sentences + advice


def describe_ratings(findings: RunFindings) -> str:
    """One line about the judgements in the data, empty where there are none."""
    ratings = [r for r in findings.data.ratings if r.response is not None]
    n_dialogue_ratings = len(findings.data.ratings) - len(ratings)
    parts = []
    if ratings:
        n_rated = len({r.response for r in ratings})
        aspects = ", ".join(dict.fromkeys(r.aspect for r in ratings))
        parts.append(
            f"{format_count(len(ratings), 'rating')} by {describe_raters(r.rater for r in ratings)} of "
            f"{n_rated:,} of the {len(findings.scores):,} replies ({aspects})"
        )
    if n_dialogue_ratings:
        parts.append(f"{format_count(n_dialogue_ratings, 'rating')} of whole dialogues, which this page does not use")
    if findings.data.preferences:
        parts.append(f"{format_count(len(findings.data.preferences), 'preference')}, which it does not use")
    return "; ".join(parts) + "." if parts else ""


def repeat_commands(findings: RunFindings) -> list[str]:
    """The commands that make this page again."""
    about: Mapping[str, Any] = findings.about
    score = ["rejoinder", "score"]
    names = ["-" if one["name"] == "<stdin>" else one["name"] for one in about["inputs"]]
    score += ["SHARDS"] if "shards" in about else names
    score += [word for spec in findings.scores.metrics for word in ("-m", spec)]
    score += ["--empty", "nan"] if about["empty"] == "nan" else []
    score += ["--matched"] if findings.scores.matched else []
    page = ["rejoinder", "report", "RUN"]
    page += ["--aspect", findings.aspect] if findings.aspect is not None else []
    page += ["--by", findings.by] if findings.by is not None else []
    page += ["--seed", str(findings.seed)] if findings.seed else []
    return [quote_command([*score, "-o", "RUN"]), quote_command(page)]
