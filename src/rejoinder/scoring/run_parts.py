"""A run over shards read as one run: its parts are ordinary run folders, and their ``run.json`` are merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import RunError, shorten_path
from rejoinder.files import sha256_of_parts

ABOUT, SHARDS = "sharded.json", "shards"


def find_about_file(folder: Path) -> Path | None:
    """Return the file that marks a finished run, of one input or over shards; None where there is none."""
    try:
        return next((path for path in (folder / "run.json", folder / ABOUT) if path.is_file()), None)
    except OSError as error:
        raise RunError(f"{shorten_path(folder)}: cannot be read ({error.strerror})") from None


def list_run_parts(folder: Path) -> list[Path]:
    """Return the run folders of a run: itself, or those of its shards that hold replies, in order."""
    path = folder / ABOUT
    if find_about_file(folder) != path:
        return [folder]
    try:
        shards = orjson.loads(path.read_bytes())["shards"]
        parts = [folder / SHARDS / one["address"] for one in shards if one["responses"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: cannot be read ({error}); run the command that wrote it again") from None
    if not parts:
        raise RunError(f"{path}: lists no shards with replies; run the command that wrote it again")
    missing = [part.name for part in parts if not part.is_dir()]
    if missing:
        raise RunError(
            f"{folder}: the scores of {len(missing):,} of {len(parts):,} shards are missing (first {missing[0]}); "
            "run the command that scored them again"
        )
    return parts


def merge_run_parts(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge the ``run.json`` of the parts of one input, as a run over all of it would have written it."""
    first = parts[0]
    systems, counts, flags = (_sum_counts(one[key] for one in parts) for key in ("systems", "counts", "flags"))
    merged = {
        "id": sha256_of_parts((one["id"] for one in parts), "")[:16],
        "inputs": [source for one in parts for source in one["inputs"]],
        "metrics": [_merge_metric([one["metrics"][i] for one in parts]) for i in range(len(first["metrics"]))],
        "counts": dict(sorted(counts.items())),
        "systems": systems,
        "flags": flags,
        "shards": len(parts),
    }
    return {**{key: value for key, value in first.items() if key != "files"}, **merged}


def _merge_metric(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge a metric over all parts; where signatures differ, the references came from different sources."""
    signatures = list(dict.fromkeys(one["signature"] for one in parts))
    more = f" (and {len(signatures) - 1:,} more in other shards)" if len(signatures) > 1 else ""
    counts = _sum_counts({key: one[key] for key in ("n", "missing", "cut") if key in one} for one in parts)
    return {**parts[0], "signature": signatures[0] + more, **counts}


def _sum_counts(parts: Any) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for one in parts:
        for name, n in one.items():  # not update(): an entry of 0 stays
            sums[name] += n
    return dict(sums)
