"""What a run says about its judges' answers: how many could not be read and why, and how they were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def summarise_answers(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of a judge's raw answers, as a run folder stores them; an answer that replies share counts once."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("unreadable", "styles", "scores")}
    paid = refused = 0
    places: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, int]] = set()
    for record in records:
        reply = (record["response"], record["key"])
        answer, places[reply] = (record["key"], places[reply]), places[reply] + 1
        if answer in seen:
            continue
        seen.add(answer)
        if record["outcome"] == "refused":
            refused += 1
            continue
        paid += 1
        counts["styles"] += Counter([record["style"]] if record.get("style") else [])
        counts["unreadable"] += Counter([record["problem"]] if record.get("problem") else [])
        if "weighted" in record:
            counts["scores"]["by log-probabilities" if record["weighted"] else "as written"] += 1
    if not paid and not refused:
        return {}
    return {"paid": paid, "refused": refused, **{name: dict(count) for name, count in counts.items() if count}}


def add_summaries(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The summary of several parts of a run together."""
    total: dict[str, Any] = {}
    for summary in summaries:
        for name, value in summary.items():
            total[name] = total.get(name, 0) + value if isinstance(value, int) else _add(total.get(name, {}), value)
    return total


def _add(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return dict(Counter(first) + Counter(second))


def describe_summary(summary: Mapping[str, Any]) -> list[str]:
    """What a user should know about the answers, in sentences; nothing where all went well."""
    paid, unreadable, scores = (summary.get(name, {}) for name in ("paid", "unreadable", "scores"))
    sentences = []
    if unreadable:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in Counter(unreadable).most_common())
        sentences.append(f"{sum(unreadable.values()):,} of {paid:,} answers could not be read ({reasons})")
    if written := scores.get("as written", 0):
        sentences.append(
            f"{written:,} of {sum(scores.values()):,} scores are as written, because the log-probabilities of their "
            "tokens did not come"
        )
    return sentences
