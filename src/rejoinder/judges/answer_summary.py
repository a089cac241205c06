"""What a run says about its judges' answers: how many could not be read and why, and how they were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rejoinder.engines.spending import format_money
from rejoinder.judges.completion import TokenUsage
from rejoinder.judges.prices import explain_missing_price, find_price
from rejoinder.table import format_count


def summarise_answers(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of a judge's raw answers, as a run folder stores them; an answer that replies share counts once."""
    counts: dict[str, Counter[str]] = {
        name: Counter() for name in ("unreadable", "styles", "scores", "verdicts_in_replies")
    }
    paid = refused = 0
    tokens = Counter(input_tokens=0, output_tokens=0, uncounted=0)
    requests = set()
    places: Counter[tuple[str, str]] = Counter()
    seen: set[tuple[str, int]] = set()
    for record in records:
        reply = (record["response"], record["key"])
        answer, places[reply] = (record["key"], places[reply]), places[reply] + 1
        if answer in seen:
            continue
        seen.add(answer)
        requests.add(record["key"])
        if record["outcome"] == "refused":
            refused += 1
            continue
        paid += 1
        usage = TokenUsage(**record["usage"]) if "usage" in record else TokenUsage(None, None)
        if usage.input is None or usage.output is None:
            tokens["uncounted"] += 1
        else:
            tokens["input_tokens"] += usage.input
            tokens["output_tokens"] += usage.output
        counts["styles"] += Counter([record["style"]] if record.get("style") else [])
        counts["unreadable"] += Counter([record["problem"]] if record.get("problem") else [])
        if "weighted" in record:
            counts["scores"]["by log-probabilities" if record["weighted"] else "as written"] += 1
        if "repeats_reply" in record:
            counts["verdicts_in_replies"]["repeated" if record["repeats_reply"] else "not repeated"] += 1
    if not paid and not refused:
        return {}
    named = {name: dict(count) for name, count in counts.items() if count}
    return {"requests": len(requests), "paid": paid, "refused": refused, **tokens, **named}


def price_answers(summary: Mapping[str, Any], model: str) -> dict[str, Any]:
    """What the answers of a summary cost: requests, tokens, and the cost, or null and the reason."""
    counts = {name: summary.get(name, 0) for name in ("requests", "input_tokens", "output_tokens")}
    price = find_price(model)
    if price is None:
        return {**counts, "cost": None, "reason": explain_missing_price(model)}
    if uncounted := summary.get("uncounted", 0):
        return {**counts, "cost": None, "reason": f"{uncounted:,} answers came without a valid token count"}
    cost = round(price.cost(counts["input_tokens"], counts["output_tokens"]), 8)
    return {**counts, "cost": cost, "currency": price.currency, "price": price.describe()}


def describe_cost(cost: Mapping[str, Any]) -> str:
    """What the answers of a run cost, in a sentence."""
    answered = cost.get("answered_before", 0)
    before = f" ({answered:,} answered before)" if answered else ""
    tokens = f"{cost['input_tokens']:,} input and {cost['output_tokens']:,} output tokens"
    whole = f"{format_count(cost['requests'], 'request')}{before}, {tokens}"
    if cost["cost"] is None:
        return f"{whole}; cost unknown: {cost['reason']}."
    currency = f" {cost['currency']}" if cost.get("currency") else ""
    return f"{whole}; cost {format_money(cost['cost'])}{currency} ({cost['price']})."


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
    written = summary.get("verdicts_in_replies", {})
    if repeated := written.get("repeated", 0):
        sentences.append(describe_repeated(repeated, sum(written.values())))
    return sentences


def describe_repeated(repeated: int, total: int) -> str:
    """How many answers state a verdict that is written in the reply itself, in a sentence without its end."""
    return (
        f"{repeated:,} of {format_count(total, 'answer')} about replies that contain a verdict themselves (such as "
        '"Rating: 5") state the same one'
    )
