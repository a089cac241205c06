"""A finished run read back: its scores as columns, its checked input as a collection."""

from __future__ import annotations

import math
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.data.arrow import arrow_path, import_arrow
from rejoinder.data.collection import Collection, read_files
from rejoinder.errors import RunError
from rejoinder.metric import Unit
from rejoinder.scoring.folder import DATA, SCORES, check_run_files, read_run_about
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder
from rejoinder.scoring.run_parts import list_run_parts


def load_data(folder: str | Path) -> Collection:
    """Return the checked input of a run: items, responses, ratings and all other records."""
    folder = Path(folder)
    check_run_files(folder, {DATA})
    return read_files([part / DATA for part in list_run_parts(folder)], allow_empty=True)


def load_scores(folder: Path, about: dict[str, Any]) -> Scores:
    """Return the scores of a run, from its ``run.json`` and ``scores.jsonl`` (of its shards, one after the other)."""
    check_run_files(folder)
    try:
        return _load_scores(folder, about)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RunError(
            f"{folder}: scores.jsonl does not fit run.json; the run is damaged: score the input again"
        ) from None


def _load_scores(folder: Path, about: dict[str, Any]) -> Scores:
    specs = [metric["spec"] for metric in about["metrics"]]
    columns: dict[str, list[float]] = {spec: [] for spec in specs}
    matched: dict[str, list[int | None]] = {}
    of_dialogues = [metric["spec"] for metric in about["metrics"] if metric.get("unit") == "dialogue"]
    is_last: list[bool] = []
    builder = ScoresBuilder(about["systems"])
    for line in chain.from_iterable(_read_lines(part / SCORES) for part in list_run_parts(folder)):
        builder.add(line["response"], line["item"], line["system"], line.get("dialogue"))
        is_last.append(all(spec in line["scores"] for spec in of_dialogues))
        for spec in specs:
            value = line["scores"][spec] if is_last[-1] or spec not in of_dialogues else None
            columns[spec].append(math.nan if value is None else value)
        for spec, place in line.get("matched", {}).items():
            matched.setdefault(spec, []).append(place)
    return builder.build(
        facts={metric["spec"]: _parse_facts(metric) for metric in about["metrics"]},
        values={spec: np.array(column, dtype=np.float64) for spec, column in columns.items()},
        flags=about["flags"],
        cut={metric["spec"]: metric["cut"] for metric in about["metrics"] if "cut" in metric},
        matched=matched,
        data=folder,
        is_last=np.array(is_last, bool),
    )


def _parse_facts(metric: dict[str, Any]) -> MetricFacts:
    low, high = metric["range"]
    bounds = -math.inf if low is None else low, math.inf if high is None else high
    unit: Unit = "dialogue" if metric.get("unit") == "dialogue" else "reply"
    known = metric["signature"], bounds, metric["higher_is_better"], frozenset(metric["needs"])
    return MetricFacts(*known, unit, metric.get("languages"))


def _read_lines(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            for raw in file:
                yield orjson.loads(raw)
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{path}: cannot be read ({error}); the run is damaged: score the input again") from None


TABLE = "scores.parquet"
_ROWS = 65_536


def write_score_parquet(folder: Path) -> Path:
    """Write ``scores.parquet`` beside ``scores.jsonl``: one row per response, one column per metric."""
    pa = import_arrow("writing Parquet")
    from pyarrow.parquet import ParquetWriter

    specs = [metric["spec"] for metric in read_run_about(folder)["metrics"]]
    words = [(name, pa.string()) for name in ("response", "item", "system", "dialogue")]
    schema = pa.schema([*words, *((spec, pa.float64()) for spec in specs), ("flags", pa.list_(pa.string()))])
    with (
        (folder / SCORES).open("rb") as lines,
        ParquetWriter(arrow_path(folder / TABLE), schema, compression="zstd") as file,
    ):
        while rows := [_make_row(orjson.loads(line), specs) for line in islice(lines, _ROWS)]:
            file.write_table(pa.Table.from_pylist(rows, schema=schema))
    return folder / TABLE


def _make_row(line: dict[str, Any], specs: list[str]) -> dict[str, Any]:
    scores = line["scores"]
    known = {name: line.get(name) for name in ("response", "item", "system", "dialogue")}
    return {**known, **{spec: scores.get(spec) for spec in specs}, "flags": line.get("flags", [])}
