"""A run over shards read as one run: its parts are ordinary run folders, and what they say of themselves adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import RunError, shorten_path
from rejoinder.files import sha256_of_parts
from rejoinder.scoring.sharded.results import ABOUT, SHARDS


def find_about_file(folder: Path) -> Path | None:
    """The file that a finished run is told by, of one input or over shards; None where there is none."""
    try:
        return next((path for path in (folder / "run.json", folder / ABOUT) if path.is_file()), None)
    except OSError as error:
        raise RunError(f"{shorten_path(folder)}: cannot be read ({error.strerror})") from None


def list_run_parts(folder: Path) -> list[Path]:
    """The run folders of which a run consists: itself, or those of its shards that hold replies, in order."""
    path = folder / ABOUT
    if find_about_file(folder) != path:
        return [folder]
    try:
        shards = orjson.loads(path.read_bytes())["shards"]
        found = [folder / SHARDS / one["address"] for one in shards if one["responses"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: cannot be read ({error}); give the command that wrote it again") from None
    if not found:
        raise RunError(f"{path}: lists no shards with replies; give the command that wrote it again")
    lost = [part.name for part in found if not part.is_dir()]
    if lost:
        raise RunError(
            f"{folder}: the scores of {len(lost):,} shards are not there (first {lost[0]}); give the command that "
            "scored them again"
        )
    return found


def merge_parts(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What runs over the parts of one input say together, as a run over all of it would."""
    first = parts[0]
    systems, counts, flags = (_sum_counts(one[key] for one in parts) for key in ("systems", "counts", "flags"))
    whole = {
        "id": sha256_of_parts((one["id"] for one in parts), "")[:16],
        "inputs": [given for one in parts for given in one["inputs"]],
        "metrics": [_merge_metric([one["metrics"][place] for one in parts]) for place in range(len(first["metrics"]))],
        "counts": dict(sorted(counts.items())),
        "systems": systems,
        "flags": flags,
        "shards": len(parts),
    }
    return {**{key: value for key, value in first.items() if key != "files"}, **whole}


def _merge_metric(told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A metric of all parts; where its signature is not the same in all, the references of some were other ones."""
    signatures = list(dict.fromkeys(one["signature"] for one in told))
    more = f" (and {len(signatures) - 1:,} more in other shards)" if len(signatures) > 1 else ""
    added = _sum_counts({key: one[key] for key in ("n", "missing", "cut") if key in one} for one in told)
    return {**told[0], "signature": signatures[0] + more, **added}


def _sum_counts(told: Any) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in told:
        for name, n in one.items():  # not update(): an entry of 0 stays
            found[name] += n
    return dict(found)
