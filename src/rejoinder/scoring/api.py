"""Scoring without a folder: a collection, a file or plain lists in, scores out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.data.collection import Collection, from_lists
from rejoinder.data.importers import ImportOptions
from rejoinder.data.tables.frames import is_table
from rejoinder.errors import InputError, SpecError, brief
from rejoinder.metric import METRICS, Metric, Row, SetMetric, metric_class, metric_of_function, parse
from rejoinder.scoring import compute, flags
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder, TableRows, Values
from rejoinder.types import Pair
from rejoinder.user_function import Function, name_function


def score(
    data: Any,
    metrics: Sequence[str | Metric | Function] | str | Metric | Function | None = None,
    *,
    contexts: Sequence[Sequence[str] | str] | None = None,
    references: Sequence[Sequence[str] | str] | None = None,
    matched: bool = False,
    options: ImportOptions | None = None,
) -> Scores:
    """Score every response under every metric; nothing is written anywhere (``run`` writes a run folder).

    - ``data``: what ``read`` returns, what it takes (a file, a DataFrame, a list of dictionaries), or a plain list of
      replies.
    - ``metrics``: specs such as ``bleu(n=2)``, metrics, or plain functions ``function(context, reply) -> number``;
      by default, those that suit the data.
    - ``contexts``: for a plain list: the turns before each reply, oldest first.
    - ``references``: for a plain list: good replies to each context.
    - ``matched``: also compute which reference each reply matched best.
    - ``options``: how to read data in another format than ours: columns, system, sheet.

    The ``imported`` of the scores says which columns were taken for what, what was not used, and what was left out.
    Of a table in memory, ``scores["length"]`` has one score per row, and ``to_pandas`` has its index.

    >>> import rejoinder
    >>> scores = rejoinder.score("chats.jsonl", metrics=["meteor", "length"])
    >>> scores.mean("meteor", "attentive").value > scores.mean("meteor", "parrot").value
    True
    >>> rejoinder.score(["Fine."], "length", contexts=[["How are you?"]])["length"].tolist()
    [1.0]
    >>> rejoinder.score([{"prompt": "How are you?", "answer": "Fine."}], "length").systems
    ['system']
    >>> def asks_back(context: list[str], reply: str) -> float:
    ...     return float(reply.endswith("?"))
    >>> rejoinder.score(["Fine, and you?"], [asks_back], contexts=[["How are you?"]])["asks_back"].tolist()
    [1.0]
    """
    collection = _make_collection(data, contexts, references, options)
    pairs = list(collection.pairs())
    if not pairs:
        raise InputError(f"no responses to score in {collection!r}")
    wanted = _parse_metrics(metrics, pairs)
    sources = {r.source for item in collection.items.values() for r in item.references}
    builder = ScoresBuilder()
    for pair in pairs:
        builder.add(pair.response.id, pair.item.id, pair.response.system, pair.item.dialogue)
    raised = [flag for of_pair in flags.find_flags(pairs) for flag in of_pair]
    scores = builder.build(
        facts={str(metric): MetricFacts.of(metric, sources) for metric in wanted},
        values={str(metric): score_pairs(metric, pairs) for metric in wanted},
        flags={flag: raised.count(flag) for flag in flags.MEANINGS},
        cut={str(m): sum(map(bool, compute.find_cut_pairs(m, pairs))) for m in wanted if not compute.reads_whole(m)},
        matched={str(m): compute.match_references(m, pairs) for m in wanted if matched and "references" in m.needs},
        data=collection,
        is_last=np.array([pair.is_last for pair in pairs], bool),
    )
    return replace(scores, imported=tuple(collection.imported), table_rows=_make_table_rows(scores, collection, data))


def _make_table_rows(scores: Scores, collection: Collection, data: Any) -> TableRows | None:
    """Return which reply belongs to each row of a table in memory; None where a row has several, or there are none."""
    rows = collection.rows
    if not rows or any(len(row.responses) > 1 for row in rows.values()):
        return None
    place_of = {response: place for place, response in enumerate(scores.responses)}
    places = np.full(max(rows), -1, np.int64)
    aspects = dict.fromkeys(aspect for row in rows.values() for aspect in row.ratings)
    ratings = {aspect: np.full(len(places), math.nan) for aspect in aspects}
    for number, row in rows.items():
        places[number - 1] = place_of[row.responses[0]] if row.responses else -1
        for aspect, values in row.ratings.items():
            ratings[aspect][number - 1] = np.mean(values)
    index = data.index if hasattr(data, "iloc") else None
    return TableRows(places, ratings, index if index is not None and len(index) == len(places) else None)


def default_metrics(has_context: bool, has_references: bool) -> list[str]:
    """Return the metrics to use where none is named: those of the package whose ``default_for`` says so."""
    parts = [*(["context"] if has_context else []), "references" if has_references else "no references"]
    places = {
        name: (parts.index(use[0]), use[1])
        for name in METRICS.packaged_names()
        if (use := metric_class(name).default_for) is not None and use[0] in parts
    }
    return sorted(places, key=places.__getitem__)


def _make_collection(
    data: Any,
    contexts: Sequence[Sequence[str] | str] | None,
    references: Sequence[Sequence[str] | str] | None,
    options: ImportOptions | None,
) -> Collection:
    if isinstance(data, Collection | str | Path) or is_table(data):
        if contexts is not None or references is not None:
            raise InputError("contexts and references are for a plain list of replies; a file or a table has its own")
        from rejoinder.data.inputs import read

        return data if isinstance(data, Collection) else read(data, options=options)
    return from_lists(data, contexts, references)


def _parse_metrics(
    specs: Sequence[str | Metric | Function] | str | Metric | Function | None, pairs: Sequence[Pair]
) -> list[Metric]:
    if specs is None:
        items = [pair.item for pair in pairs]
        specs = default_metrics(any(item.context for item in items), any(item.references for item in items))
    elif not isinstance(specs, Sequence) or isinstance(specs, str):
        specs = [specs]
    if not specs:
        raise SpecError("no metric was named; give at least one, e.g. metrics=['bleu']")
    unique = [one for i, one in enumerate(specs) if not any(one is other for other in specs[:i])]
    parsed = list(dict.fromkeys(_parse_metric(one, place) for place, one in enumerate(unique, start=1)))
    repeated = [metric for i, metric in enumerate(parsed) if str(metric) in map(str, parsed[:i])]
    if repeated:
        raise SpecError(f"two metrics are called {repeated[0]}; rename one of the functions")
    return parsed


def _parse_metric(one: str | Metric | Function, place: int) -> Metric:
    if isinstance(one, str):
        return parse(one)
    if isinstance(one, Metric):
        return one
    if isinstance(one, type) or not callable(one):
        raise SpecError(f"{brief(one)} is not a metric; name a spec such as 'bleu', a metric or a function")
    return metric_of_function(one, f"lambda_{place}" if name_function(one) == "lambda" else None)


def score_pairs(metric: Metric, pairs: Sequence[Pair]) -> Values:
    """Return one score per pair, NaN where there is none; a SetMetric takes the pairs as the whole set."""
    statistics = compute.measure_pairs(metric, pairs)
    known = [i for i, statistic in enumerate(statistics) if statistic is not None]
    column = np.full(len(pairs), math.nan)
    if isinstance(metric, SetMetric):
        names = [(p.response.id, p.item.id, p.response.system) for p in pairs]
        settled = compute.settle_set(metric, [Row(*names[i], statistics[i]) for i in known])
        column[known] = [math.nan if value is None else value for value in settled]
    else:
        column[known] = [statistics[i] for i in known]
    return column
