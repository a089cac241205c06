"""What the scorers answered, stored beside this file: scores without texts, from which every table can be made again.

A file has the scores of held-out places in at most 255 steps of equal frequency per scorer and corpus, those of rated
replies to four decimals; digests say of which dialogues and replies.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.speaker.network import Array
from rejoinder_lab.papers import stored_answers
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.ssrem.scorers import ENCODERS, ComparedScorer
from rejoinder_lab.papers.ssrem.scores import HeldOutScores, PlaceScores

FOLDER = Path(__file__).parent
RATINGS, EXAMPLE, SIMILARITY = "ratings", "example", "similarity"
_STEPS = 255
_MISSING = 255
_DECIMALS = 4


class CodedScores(NamedTuple):
    """Scores as the numbers of steps, and the mean score of each step."""

    codes: NDArray[np.uint8]
    values: NDArray[np.float64]

    def decode(self) -> Array:
        """The scores, each as the mean of its step; NaN where one is missing."""
        known = np.append(self.values, np.full(_MISSING + 1 - len(self.values), np.nan))
        return known[self.codes]


def code_scores(scores: Array) -> CodedScores:
    """Put scores into steps of equal frequency; equal scores are in the same step, and the order of steps is theirs."""
    flat = scores.ravel()
    known = flat[~np.isnan(flat)]
    edges = np.unique(np.quantile(known, np.arange(1, _STEPS) / _STEPS)) if len(known) else np.zeros(0)
    steps = np.searchsorted(edges, flat, side="right")
    codes = np.unique(steps[~np.isnan(flat)], return_inverse=True)[1]
    sums, counts = np.bincount(codes, weights=known), np.bincount(codes)
    all_codes = np.full(len(flat), _MISSING, np.uint8)
    all_codes[~np.isnan(flat)] = codes
    return CodedScores(all_codes.reshape(scores.shape), np.round(sums / np.maximum(counts, 1), 6))


def places_file(scorer: ComparedScorer) -> str:
    """The name of the file that has a scorer's held-out scores."""
    more = "_more" if scorer.seed or scorer.on or scorer.copies else ""
    return f"{encoder_file('places', scorer.reading.encoder)}{more}"


def encoder_file(name: str, encoder: str) -> str:
    """The name of the file that has some scores of the scorers over an encoder."""
    return f"{name}_{encoder.partition('-')[0]}"


def write_places(
    held: Iterable[tuple[ComparedScorer, str, PlaceScores]], dialogues: str, folder: Path = FOLDER
) -> list[Path]:
    """Add held-out scores to those that are stored; ``dialogues`` is the digest of those measured."""
    files: dict[str, dict[str, Any]] = {}
    for scorer, corpus, scores in held:
        file = files.setdefault(places_file(scorer), {"dialogues": dialogues, "places": {}, "scorers": {}})
        numbers = np.unique(scores.dialogues, return_inverse=True)[1]
        file["places"][corpus] = _pack(numbers.astype("<u2"))
        coded = code_scores(np.column_stack([scores.scores, scores.copied]))
        entry = file["scorers"].setdefault(scorer.name, {"bounds": list(scores.bounds), "scores": {}})
        entry["scores"][corpus] = {"codes": _pack(coded.codes), "values": coded.values.tolist()}
    return [add_stored(name, content, folder) for name, content in files.items()]


def read_places(scorers: Iterable[ComparedScorer], folder: Path = FOLDER) -> HeldOutScores:
    """The held-out scores of those scorers that are stored."""
    held = {}
    for scorer in scorers:
        file = read_stored(places_file(scorer), folder)
        for corpus, coded in file.get("scorers", {}).get(scorer.name, {"scores": {}})["scores"].items():
            codes = _unpack(coded["codes"], np.uint8).reshape(-1, 6)
            scores = CodedScores(codes, np.array(coded["values"])).decode()
            bounds = tuple(file["scorers"][scorer.name]["bounds"])
            dialogues = _unpack(file["places"][corpus], np.dtype("<u2")).astype(np.int64)
            held[scorer, corpus] = PlaceScores(scores[:, :5], scores[:, 5], bounds, dialogues)
    return held


def pack_scores(scores: Sequence[float] | Array) -> str:
    """Scores of replies, to four decimals."""
    values = np.asarray(scores, np.float64)
    missing = np.isnan(values)
    whole = np.where(missing, -32768, np.round(np.where(missing, 0, values) * 10**_DECIMALS))
    if np.abs(whole[~missing]).max(initial=0) > 32767:
        raise ValueError("scores outside -3.2 to 3.2 cannot be stored")
    return _pack(whole.astype("<i2"))


def unpack_scores(packed: str) -> Array:
    """What ``pack_scores`` packed."""
    whole = _unpack(packed, np.dtype("<i2")).astype(np.float64)
    return np.where(whole == -32768, np.nan, whole / 10**_DECIMALS)


def read_all(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """What is stored under a name for each encoder, together."""
    together: dict[str, Any] = {}
    for encoder in ENCODERS:
        _merge(together, read_stored(encoder_file(name, encoder), folder))
    return together


def _merge(together: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict):
            _merge(together.setdefault(key, {}), value)
        else:
            together[key] = value


def write_similarity(figures: Iterable[Figure], folder: Path = FOLDER) -> Path:
    """Write the figures of Table 2."""
    rows = [{**asdict(one), "measured": None if math.isnan(one.measured) else one.measured} for one in figures]
    return write_stored(SIMILARITY, {"figures": rows}, folder)


def read_similarity(folder: Path = FOLDER) -> list[Figure]:
    """The figures of Table 2."""
    rows = read_stored(SIMILARITY, folder).get("figures", [])
    return [Figure(**{**row, "measured": math.nan if row["measured"] is None else row["measured"]}) for row in rows]


def add_stored(name: str, content: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write one stored file, with what it has of other scorers if that is of the same dialogues and replies."""
    together = deepcopy(read_stored(name, folder))
    if _digests(together) != _digests(content):
        together = {}
    _merge(together, content)
    return write_stored(name, together, folder)


def _digests(content: Mapping[str, Any]) -> tuple[Any, ...]:
    """What some scores are of."""
    return content.get("dialogues"), {name: one["replies"] for name, one in content.get("sets", {}).items()}


def write_stored(name: str, content: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write one stored file; the same content gives the same bytes."""
    path = folder / f"stored_{name}.json.gz"
    stored_answers.write_stored(path, content, sort_keys=True)
    _read.cache_clear()
    return path


def read_stored(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The content of one stored file; empty where there is none."""
    return _read(folder / f"stored_{name}.json.gz")


@lru_cache(maxsize=16)
def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    content: dict[str, Any] = stored_answers.read_stored(
        path, "write it with: python -m rejoinder_lab.papers.ssrem.jobs"
    )
    return content


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _unpack(text: str, kind: Any) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), kind)
