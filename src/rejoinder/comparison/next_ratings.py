"""Which replies to have rated next: where the metrics disagree most, where the order of systems is least certain, or a
mix of low, uncertain, unusual and diverse replies.

This is not a random sample. It tells metrics or systems apart with fewer ratings, but a mean or a correlation over
these replies alone is not representative of all of them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from rejoinder.comparison.judgements import AGGREGATE, is_by_judge
from rejoinder.comparison.preferences import rank_by_preference
from rejoinder.comparison.random_draw import Together, draw_replies, mark_drawn
from rejoinder.comparison.reading_list import beaten_shares, choose_replies
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import read
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import load
from rejoinder.scoring.texts import format_context
from rejoinder.stats.arrays import Floats
from rejoinder.stats.order_uncertainty import order_uncertainty, strength_uncertainty
from rejoinder.table import Cell, Table
from rejoinder.types import Item, Response


class RatingSuggestion(NamedTuple):
    """A reply to have rated: how much it is worth (what replies are sorted by, except in a mix), and why."""

    response: str
    item: str
    system: str
    worth: float
    rated: int
    why: str


@dataclass(frozen=True)
class NextRatings:
    """The replies most worth rating next, best first, and the data that they are in.

    With one system and no rating, they are a list of what to read.
    """

    suggestions: Sequence[RatingSuggestion]
    data: Collection
    purpose: Literal["rate", "read", "estimate"] = "rate"  # for an estimate, ``worth`` is the probability

    def table(self) -> Table:
        """One line per reply, the most valuable first."""
        tables = {"rate": next_table, "read": reading_table, "estimate": draw_table}
        return tables[self.purpose](self.suggestions)

    def rating_sheet(self) -> Table:
        """The replies with their contexts and an empty column for ratings, to be filled in in a spreadsheet."""
        rows: list[list[Cell]] = [
            [
                one.response,
                format_context(self.data.items[one.item].context),
                self.data.responses[one.response].text,
                "",
                one.worth,
            ]
            for one in self.suggestions
        ]
        return Table("Rate these", ["response", "context", "reply", "rating", "probability"], rows, [])

    def records(self) -> list[Item | Response]:
        """The replies with their items, as an annotation project reads them."""
        return select_suggested_records(self.suggestions, self.data)


def next_(
    run: str | Path,
    by: Literal["metrics", "ranking", "mix"] | None = None,
    count: int = 20,
    *,
    aspect: str | None = None,
    seed: int = 0,
) -> NextRatings:
    """The replies of a run that are most worth rating next.

    - ``run``: a run folder; for a ranking, a file or ``dataset:NAME`` with ratings or preferences is enough.
    - ``by``: where the ``metrics`` disagree most, where the ``ranking`` of systems is least certain, or a ``mix`` of
      low, uncertain, unusual and diverse replies; by default a mix for a run of one system, else metrics for a run
      with two or more of them, else the ranking.
    - ``count``: how many replies.
    - ``aspect``: the aspect whose ratings give the ranking.
    - ``seed``: the seed of the resamples.

    >>> import rejoinder
    >>> chosen = rejoinder.next_("RUN", count=5)
    >>> len(chosen.suggestions)
    5
    >>> rejoinder.write(chosen.records(), "next.jsonl") > 5
    True
    """
    is_file = str(run) == "-" or str(run).startswith("dataset:") or Path(run).is_file()
    scores = None if is_file else load(run)
    data = read(run, allow_empty=True) if scores is None else load_data(run)
    by = by or _choose_way(scores, data, aspect)
    if by != "ranking":
        if scores is None:
            raise InputError("only a run folder has metrics; make one with: rejoinder score FILE -o RUN")
        if by == "mix":
            purpose: Literal["rate", "read"] = "read" if len(scores.systems) == 1 and not data.ratings else "rate"
            return NextRatings(mix_replies(scores, data, count, seed), data, purpose)
        return NextRatings(find_metric_disagreements(scores, data, count, seed), data)
    return NextRatings(find_uncertain_order(data, count, aspect, scores, seed), data)


def _choose_way(scores: Scores | None, data: Collection, aspect: str | None) -> Literal["metrics", "ranking", "mix"]:
    if scores is None or aspect is not None:
        return "ranking"
    directed = [facts for facts in scores.facts.values() if facts.higher_is_better is not None]
    if len(scores.systems) == 1 or not (directed or data.ratings or data.preferences):
        return "mix"
    return "metrics" if len(directed) > 1 else "ranking"


def mix_replies(scores: Scores, data: Collection, n: int, seed: int = 0) -> list[RatingSuggestion]:
    """Low, uncertain, unusual and diverse replies in turns; no ratings and no second system are needed."""
    rated = _ratings_by_response(data, None)
    suggestions = []
    for choice in choose_replies(scores, data, n, seed, rated):
        response = scores.responses[choice.place]
        names = response, scores.items[choice.place], scores.systems[scores.system_codes[choice.place]]
        suggestions.append(RatingSuggestion(*names, choice.worth, rated.get(response, 0), choice.why))
    return suggestions


def find_metric_disagreements(scores: Scores, data: Collection, n: int, seed: int = 0) -> list[RatingSuggestion]:
    """The replies whose ranks under the metrics differ most, by the standard deviation of the shares that they beat.

    For a reply with k ratings, this is divided by 1 + k. Metrics without a direction are ignored.
    """
    specs = [spec for spec, facts in scores.facts.items() if facts.higher_is_better is not None]
    if len(specs) < 2:
        raise InputError(f"two or more metrics with a direction are needed, found {len(specs)}; score with others too")
    ranks = np.stack([beaten_shares(scores[spec], scores.facts[spec].higher_is_better is False) for spec in specs])
    known = (~np.isnan(ranks)).sum(axis=0)
    mean = np.nansum(ranks, axis=0) / np.maximum(known, 1)
    spread = np.sqrt(np.nansum((ranks - mean) ** 2, axis=0) / np.maximum(known, 1))
    rated = _ratings_by_response(data, None)
    suggestions = []
    for i, response in enumerate(scores.responses):
        if known[i] >= 2:
            low, high = int(np.nanargmin(ranks[:, i])), int(np.nanargmax(ranks[:, i]))
            why = f"{specs[high]} puts it above {ranks[high, i]:.0%} of replies, {specs[low]} above {ranks[low, i]:.0%}"
            n_ratings = rated.get(response, 0)
            system = scores.systems[scores.system_codes[i]]
            suggestions.append(
                RatingSuggestion(response, scores.items[i], system, float(spread[i]) / (1 + n_ratings), n_ratings, why)
            )
    if not suggestions:
        raise InputError(f"no reply has scores from two of these metrics: {', '.join(specs)}; score with others")
    return _select_best(suggestions, n, seed)


def find_uncertain_order(
    data: Collection, n: int, aspect: str | None = None, scores: Scores | None = None, seed: int = 0
) -> list[RatingSuggestion]:
    """Replies of the systems whose order is least certain, to items that both answered, the least rated first.

    The order is that of the ratings in an aspect; without ratings, of the preferences; without those, of the first
    metric of a run that has a direction.
    """
    systems = list(dict.fromkeys(response.system for response in data.responses.values()))
    if len(systems) < 2:
        raise InputError(f"an order needs two or more systems, found {len(systems)}")
    uncertain, rated, by = _pair_uncertainty(data, systems, aspect, scores, seed)
    replies: dict[str, list[Response]] = {}
    for response in data.responses.values():
        replies.setdefault(response.item, []).append(response)
    suggestions = []
    for item, item_replies in replies.items():
        for reply in item_replies:
            options = [
                (
                    uncertain[reply.system, other.system] / (1 + rated.get(reply.id, 0) + rated.get(other.id, 0)),
                    other.system,
                    uncertain[reply.system, other.system],
                )
                for other in item_replies
                if other.system != reply.system
            ]
            if options:
                worth, other_system, uncertainty = max(options)
                why = f"{reply.system} against {other_system} by {by}: {uncertainty:.2f} (1 is a toss-up)"
                suggestions.append(RatingSuggestion(reply.id, item, reply.system, worth, rated.get(reply.id, 0), why))
    if not suggestions:
        raise InputError("no two systems answered the same item, so no reply would settle their order")
    return _select_best(suggestions, n, seed)


def _pair_uncertainty(
    data: Collection, systems: Sequence[str], aspect: str | None, scores: Scores | None, seed: int
) -> tuple[Mapping[tuple[str, str], float], Mapping[str, int], str]:
    """How uncertain the order of every two systems is, how often each reply was judged, and what the order rests on."""
    known = list(dict.fromkeys(r.aspect for r in data.ratings if r.response and not r.rater.startswith(AGGREGATE)))
    by_people = [one for one in rank_by_preference(list(data)) if one.judge is None]
    ranked = [one for one in by_people if aspect in (None, one.aspect)]
    if known and (aspect in known or aspect is None):
        if aspect is None and len(known) > 1:
            raise InputError(f"responses were rated in several aspects ({', '.join(known)}); choose one aspect")
        aspect = aspect or known[0]
        return (
            _table_uncertainty(_rated_table(data, systems, aspect), systems, seed),
            _ratings_by_response(data, aspect),
            aspect,
        )
    if ranked:
        n_judged: dict[str, int] = {}
        for one in data.preferences:
            if one.aspect == ranked[0].aspect and not (one.rater.startswith(AGGREGATE) or is_by_judge(one)):
                for response in (one.first, one.second):
                    n_judged[response] = n_judged.get(response, 0) + 1
        p_values = strength_uncertainty(ranked[0].ranking)
        uncertain = {(a, b): p_values.get((a, b), 1.0) for a in systems for b in systems}
        return uncertain, n_judged, f"preferences in {ranked[0].aspect}"
    if aspect is not None:
        hint = nearest(aspect, [*known, *(one.aspect for one in by_people)])
        raise InputError(f"nobody judged responses in the aspect {aspect!r}; {hint}")
    if scores is None:
        raise InputError("there are no ratings and no preferences to go by; use a run folder, which has scores")
    spec = next((spec for spec, facts in scores.facts.items() if facts.higher_is_better is not None), None)
    if spec is None:
        raise InputError(
            "no metric of the run has a direction, and there are no ratings to go by; score with another metric"
        )
    return _table_uncertainty(_scored_table(scores, spec, systems), systems, seed), {}, spec


def _table_uncertainty(table: Floats, systems: Sequence[str], seed: int) -> dict[tuple[str, str], float]:
    uncertainty = order_uncertainty(table, seed=seed)
    return {(a, b): float(uncertainty[i, j]) for i, a in enumerate(systems) for j, b in enumerate(systems)}


def _rated_table(data: Collection, systems: Sequence[str], aspect: str) -> Floats:
    rows = [
        (data.responses[r.response].item, data.responses[r.response].system, r.value)
        for r in data.ratings
        if r.response is not None and r.aspect == aspect and not r.rater.startswith(AGGREGATE)
    ]
    return _mean_table(rows, systems)


def _scored_table(scores: Scores, spec: str, systems: Sequence[str]) -> Floats:
    names = (scores.systems[code] for code in scores.system_codes)
    return _mean_table(list(zip(scores.items, names, scores[spec].tolist(), strict=True)), systems)


def _mean_table(rows: Sequence[tuple[str, str, float]], systems: Sequence[str]) -> Floats:
    """The mean value of each system's replies to each item."""
    column = {system: j for j, system in enumerate(systems)}
    cells: dict[tuple[str, int], list[float]] = {}
    for item, system, value in rows:
        if not math.isnan(value):
            cells.setdefault((item, column[system]), []).append(value)
    line = {item: i for i, item in enumerate(dict.fromkeys(item for item, _ in cells))}
    table = np.full((max(len(line), 1), len(systems)), math.nan)
    for (item, j), values in cells.items():
        table[line[item], j] = math.fsum(values) / len(values)
    return table


def _ratings_by_response(data: Collection, aspect: str | None) -> dict[str, int]:
    """How many people rated each reply, in an aspect or at all."""
    raters: dict[str, set[str]] = {}
    for rating in data.ratings:
        if rating.response and aspect in (None, rating.aspect) and not rating.rater.startswith(AGGREGATE):
            raters.setdefault(rating.response, set()).add(rating.rater)
    return {response: len(response_raters) for response, response_raters in raters.items()}


def _select_best(suggestions: Sequence[RatingSuggestion], n: int, seed: int) -> list[RatingSuggestion]:
    """The n that are worth most; ties are broken by a hash of the item, so that file order does not matter."""

    def draw(one: RatingSuggestion) -> bytes:
        return hashlib.sha256(f"{seed}\0{one.item}".encode()).digest()

    return sorted(suggestions, key=lambda one: (-round(one.worth, 9), draw(one), one.response))[:n]


def reading_table(suggestions: Sequence[RatingSuggestion]) -> Table:
    """One line per reply to read and why, in the order to read them in."""
    rows: list[list[Cell]] = [[one.response, one.item, one.why] for one in suggestions]
    notes = [
        "This is not a random sample: do not judge the system by these replies alone.",
        "To read them: rejoinder next RUN -o ids.txt, then rejoinder show RUN --ids ids.txt",
    ]
    return Table("Read next", ["response", "item", "why"], rows, notes)


def next_for_estimate(
    run: str | Path,
    count: int = 100,
    *,
    together: Together = "item",
    strata: str | None = None,
    by_uncertainty: bool = False,
    seed: int = 0,
) -> NextRatings:
    """A random sample of a run's replies, drawn with probabilities that ``estimate`` uses.

    - ``run``: a run folder.
    - ``count``: how many replies.
    - ``together``: what is drawn: each ``item`` with all replies to it, or each whole ``dialogue``.
    - ``strata``: draw the same share of each ``meta.KEY``, or of four equal parts by a metric's scores.
    - ``by_uncertainty``: draw more often where the metrics disagree.
    - ``seed``: the seed of the draw.

    >>> import rejoinder
    >>> drawn = rejoinder.comparison.next_for_estimate("RUN", 40)
    >>> drawn.records()[-1].meta["drawn"]
    'item'
    """
    scores, data = load(run), load_data(run)
    drawn = draw_replies(
        scores, data, count, together=together, strata=strata, by_uncertainty=by_uncertainty, seed=seed
    )
    rated, suggestions = _ratings_by_response(data, None), []
    for place, probability in drawn:
        response, system = scores.responses[place], scores.systems[scores.system_codes[place]]
        why = f"drawn at random with its {together}"
        suggestions.append(
            RatingSuggestion(response, scores.items[place], system, probability, rated.get(response, 0), why)
        )
    return NextRatings(suggestions, mark_drawn(data, scores, drawn, together), "estimate")


def draw_table(suggestions: Sequence[RatingSuggestion]) -> Table:
    """One line per reply that was drawn."""
    rows: list[list[Cell]] = [[one.response, one.system, one.rated, one.worth] for one in suggestions]
    notes = [
        "A random sample: the written replies have their probabilities in meta, and rejoinder annotate passes them on "
        "to the ratings, where rejoinder estimate reads them. Have all of them rated, and add none by hand."
    ]
    return Table("Rate these for an estimate", ["response", "system", "ratings so far", "probability"], rows, notes)


def next_table(suggestions: Sequence[RatingSuggestion]) -> Table:
    """One line per reply, the most valuable first."""
    rows: list[list[Cell]] = [[one.response, one.system, one.rated, one.worth, one.why] for one in suggestions]
    notes = ["This is not a random sample: a mean over these replies alone does not stand for the system."]
    return Table("Rate next", ["response", "system", "ratings so far", "worth", "why"], rows, notes)


def select_suggested_records(suggestions: Sequence[RatingSuggestion], data: Collection) -> list[Item | Response]:
    """The replies with their items, as an annotation project reads them."""
    records: list[Item | Response] = [data.items[item] for item in dict.fromkeys(one.item for one in suggestions)]
    return [*records, *(data.responses[one.response] for one in suggestions)]
