"""The scores of a run folder as a Parquet file, for those who go on with a query engine (extra: arrow)."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.importers._arrow import arrow, arrow_path
from rejoinder.scoring.folder import SCORES, read_about

TABLE = "scores.parquet"
_ROWS = 65_536


def write_table(folder: Path) -> Path:
    """Write ``scores.parquet`` beside ``scores.jsonl``: a row a response, a column a metric."""
    pa = arrow("writing Parquet")
    from pyarrow.parquet import ParquetWriter

    specs = [metric["spec"] for metric in read_about(folder)["metrics"]]
    words = [(name, pa.string()) for name in ("response", "item", "system", "dialogue")]
    schema = pa.schema([*words, *((spec, pa.float64()) for spec in specs), ("flags", pa.list_(pa.string()))])
    with (
        (folder / SCORES).open("rb") as lines,
        ParquetWriter(arrow_path(folder / TABLE), schema, compression="zstd") as file,
    ):
        while rows := [_row(orjson.loads(line), specs) for line in islice(lines, _ROWS)]:
            file.write_table(pa.Table.from_pylist(rows, schema=schema))
    return folder / TABLE


def _row(line: dict[str, Any], specs: list[str]) -> dict[str, Any]:
    scores = line["scores"]
    known = {name: line.get(name) for name in ("response", "item", "system", "dialogue")}
    return {**known, **{spec: scores[spec] for spec in specs}, "flags": line.get("flags", [])}
