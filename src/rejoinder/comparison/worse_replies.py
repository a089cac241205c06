"""The replies that lost most from an old run to a new one, over all metrics that were checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.comparison.check import CheckResult
from rejoinder.comparison.run_pair import RunPair, SystemPair, pair_runs
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run
from rejoinder.scoring.texts import format_context
from rejoinder.table import format_count

_TURNS = 4  # of a context, the last ones


class WorseReply(NamedTuple):
    """One item's replies in both runs; ``scores`` are metric, old and new, the metric that lost most first."""

    system: str
    item: str
    context: str
    old_reply: str
    new_reply: str
    scores: Sequence[tuple[str, float, float]]


def find_worse_replies(
    run: Scores | Run | str | Path,
    older: Scores | Run | str | Path,
    results: Sequence[CheckResult],
    n: int = 5,
) -> list[WorseReply]:
    """Return the n replies that lost most, the greatest loss first, under the metrics and systems of the results.

    Losses under several metrics are compared as shares of their margins. Several replies to an item are averaged, and
    the first is shown.
    """
    margins = {one.metric: one.margin for one in results if one.margin is not None}
    if not margins or n < 1:
        return []
    pair = pair_runs(older, run, list(margins), ignore_signatures=True)  # the check has refused or allowed it
    if pair.old.data is None or pair.new.data is None:
        return []
    names = {one.system for one in results if one.margin is not None}
    losses = [loss for system in pair.systems if system.name in names for loss in _list_losses(pair, system, margins)]
    losses.sort(key=lambda one: -one.size)
    return [_describe(pair, one) for one in losses[:n]]


class _Loss(NamedTuple):
    """One item's scores, the metric that lost most first, and that loss as a share of its margin."""

    size: float
    system: SystemPair
    item: str
    scores: Sequence[tuple[str, float, float]]


def _list_losses(pair: RunPair, system: SystemPair, margins: Mapping[str, float]) -> list[_Loss]:
    """Every item whose reply by a system got worse under a metric."""
    changes: dict[str, list[tuple[float, tuple[str, float, float]]]] = {}
    for spec, margin in margins.items():
        scores, sign = pair.scores(spec, system).known(), -1.0 if pair.higher_is_better(spec) is False else 1.0
        for item, old, new in zip(scores.items, scores.old.tolist(), scores.new.tolist(), strict=True):
            changes.setdefault(item, []).append((sign * (old - new) / (margin or 1.0), (spec, old, new)))
    losses = []
    for item, of_item in changes.items():
        of_item.sort(key=lambda one: -one[0])
        if of_item[0][0] > 0:
            losses.append(_Loss(of_item[0][0], system, item, [ends for _, ends in of_item]))
    return losses


def _describe(pair: RunPair, loss: _Loss) -> WorseReply:
    turns = pair.old.data.items[loss.item].context if pair.old.data else ()
    before = len(turns) - _TURNS
    earlier = [f"({format_count(before, 'earlier turn')})"] if before > 0 else []
    context = "\n".join([*earlier, format_context(turns[-_TURNS:])])
    return WorseReply(loss.system.name, loss.item, context, *pair.reply_texts(loss.system, loss.item), loss.scores)
