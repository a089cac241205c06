"""What was computed for Tables 1, 2 and 4, stored in this folder, so that the tables can be rebuilt without any model.

The references are DailyDialog's text and are not stored, only their digests. Of the scores, their order is stored (one
rank per reply, equal ones equal), since the tables show rank correlations alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder_lab.papers import stored_answers
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.scarce.measures import MeasureScores, TableOneMeasure
from rejoinder_lab.papers.scarce.sets import References

PATH = Path(__file__).with_name("stored_scarce.json.gz")


@dataclass(frozen=True)
class StoredScarce:
    """The scores by set of references, the figures of the appendix, and the sentences about what was computed."""

    responses: Sequence[str]
    columns: Mapping[str, MeasureScores]  # of Tables 1 and 4
    rows: Mapping[str, MeasureScores]  # of Table 2
    further: Mapping[str, MeasureScores]
    appendix: Sequence[Figure]
    digests: Mapping[str, str]  # of the references, by set
    notes: Sequence[str]


def digest_references(references: References) -> str:
    """Return a digest of a set of references."""
    return sha256_of_bytes(orjson.dumps({item: [one.text for one in of] for item, of in references.items()}))[:16]


def write_stored(stored: StoredScarce, path: Path = PATH) -> None:
    """Write the file, with ranks in place of scores; the same content gives the same bytes."""
    content = {
        "responses": list(stored.responses),
        **{part: _plain_sets(getattr(stored, part)) for part in ("columns", "rows", "further")},
        "appendix": [asdict(figure) for figure in stored.appendix],
        "digests": dict(stored.digests),
        "notes": list(stored.notes),
    }
    stored_answers.write_stored(path, content)


def read_stored(path: Path = PATH) -> StoredScarce:
    """Read the file."""
    remedy = "write it with: python -m rejoinder_lab.papers.scarce.jobs"
    content: dict[str, Any] = stored_answers.read_stored(path, remedy)
    content |= {part: _read_sets(content[part]) for part in ("columns", "rows", "further")}
    content["appendix"] = [Figure(**one) for one in content["appendix"]]
    return StoredScarce(**content)


def check_responses(stored: StoredScarce, responses: Sequence[str]) -> None:
    """Raise if the scores are not those of these replies."""
    if list(stored.responses) != list(responses):
        raise InputError(
            "the replies of gupta/single are not those whose scores are stored; the reproduction needs the copy that "
            "`rejoinder data show gupta/single` describes"
        )


def _plain_sets(sets: Mapping[str, MeasureScores]) -> dict[str, list[Any]]:
    return {
        name: [
            {"case": one.case, "row": one.row, "signature": scored.signatures[one], "ranks": _rank(values)}
            for one, values in scored.scores.items()
        ]
        for name, scored in sets.items()
    }


def _rank(values: Any) -> list[int | None]:
    """The place of each score among the different scores, in ascending order; None for NaN."""
    places = np.unique(values[~np.isnan(values)], return_inverse=True)[1].tolist()
    ranks = iter(places)
    return [None if missing else next(ranks) for missing in np.isnan(values).tolist()]


def _read_sets(plain: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, MeasureScores]:
    sets = {}
    for name, measures in plain.items():
        scores = {TableOneMeasure(one["case"], one["row"]): np.array(one["ranks"], float) for one in measures}
        signatures = {TableOneMeasure(one["case"], one["row"]): str(one["signature"]) for one in measures}
        sets[name] = MeasureScores(scores, signatures)
    return sets
