"""What the authors released: their trained regressions, and the scores of three baselines on every test row.

The files are collected from the authors' repository, one line per checkpoint and per score. Their regressions read
BERT's pooled feature, which is not here: weights can be counted and drawn, but not applied to other rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rejoinder.data.dataset import DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, parse_decimal, read_json_lines
from rejoinder.data.reader import InputFile
from rejoinder.errors import InputError, brief
from rejoinder.paths import data_home
from rejoinder_lab.papers.idk.variants import SEEDS, IdkVariant, Runs, list_variants
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, FIVE
from rejoinder_lab.training.idk import IdkRegression, Loss, Negative, Regularization

_REASON = "it is collected from the authors' files, github.com/ikb-a/idk-dialogue-relevance, folder exp"
WEIGHTS = DatasetFile(
    "judgements/idk/authors_weights.jsonl.gz",
    "c6683400abfbcc4a2dc6cb5df207b8ba93caf027e0204d29cccc87eed2396f29",
    543_727,
    reason=_REASON,
)
PREDICTIONS = DatasetFile(
    "judgements/idk/authors_predictions.tsv.gz",
    "53d7eb0403e9da8ebbc3c494b73b3ac5fcb53dd591fb41a89015cd9e2058f590",
    62_571,
    reason=_REASON,
)
DIMENSIONS = 768
EPOCH = 1  # counted from 0: the paper trains for two epochs, the files go on to two or four
BASELINES = ("COS-MAX-BERT", "COS-NSP-BERT", "BERT NSP")
_SETS = dict(zip(("HUMOD", "USR_TC_REL", "P_DD", "FED_COR", "FED_REL"), FIVE, strict=True))
_PREFIXES = {column.name: column.dataset.partition("/")[2] for column in COLUMNS}  # of the ids of responses
_HEADER = ["metric", "set", "row", "score"]
_NAME = re.compile(
    r"(?P<data>HUMOD|USR_TC_REL)_(?P<negative>IDK|ICS|OK|Distr0|Rand3750)(?P<loss>_bce)?(_(?P<penalty>L[12])_wt1)?_lim3750"
)
_NEGATIVES: Mapping[str, Negative] = {"IDK": "idk", "ICS": "ics", "OK": "ok", "Distr0": "random", "Rand3750": "random"}
_PENALTIES: Mapping[str | None, Regularization] = {"L1": "l1", "L2": "l2", None: "none"}


def read_authors_regressions(root: Path | None = None, epoch: int = EPOCH) -> Runs:
    """Return the authors' three runs of every variant, as they were after an epoch."""
    runs: dict[IdkVariant, dict[int, IdkRegression]] = {variant: {} for variant in list_variants()}
    for row in read_json_lines(_find_file(WEIGHTS, root)):
        variant, run = parse_variant(row), row.whole("run")
        weights = row.values("weights")
        if len(weights) != DIMENSIONS or not all(isinstance(weight, int | float) for weight in weights):
            raise row.wrong("weights", f"a list of {DIMENSIONS} numbers")
        if row.whole("epoch") == epoch:
            if run in runs[variant]:
                raise InputError(f"{row.place}: run {run} of {variant.short} stands there twice")
            runs[variant][run] = IdkRegression(np.array(weights, np.float64), row.number("bias"))
    for variant, by_run in runs.items():
        if sorted(by_run) != list(SEEDS):
            raise InputError(f"{WEIGHTS.path}: {variant.short} has the runs {sorted(by_run)} instead of {list(SEEDS)}")
    return {variant: [by_run[run] for run in SEEDS] for variant, by_run in runs.items()}


def parse_variant(row: DatasetRow) -> IdkVariant:
    """The variant that the authors' name of an experiment stands for; HUMOD's own distractors are its random ones."""
    match = _NAME.fullmatch(row.text("variant"))
    if match is None:
        raise row.wrong("variant", "the name of an experiment, such as HUMOD_IDK_bce_L1_wt1_lim3750")
    loss: Loss = "bce" if match["loss"] else "triplet"
    data = "H" if match["data"] == "HUMOD" else "TC-S"
    return IdkVariant(data, _NEGATIVES[match["negative"]], _PENALTIES[match["penalty"]], loss)


def read_authors_scores(root: Path | None = None) -> Mapping[str, Mapping[str, float]]:
    """Return the scores of each baseline by the id of the response; rows count from 0, as in the ids."""
    path = _find_file(PREDICTIONS, root)
    scores: dict[str, dict[str, float]] = {metric: {} for metric in BASELINES}
    for number, line in enumerate(InputFile(path).lines()):
        place, text = str(line.place), line.text.decode("utf-8", "replace").rstrip("\r\n")
        cells = text.split("\t")
        if number == 0:
            if cells != _HEADER:
                raise InputError(f"{place}: expected the columns {', '.join(_HEADER)}, found {brief(text)}")
            continue
        if len(cells) != len(_HEADER) or cells[0] not in scores or cells[1] not in _SETS or not cells[2].isdecimal():
            raise InputError(f"{place}: expected a metric, a set, a row and a score, found {brief(text)}")
        response = f"{_PREFIXES[_SETS[cells[1]]]}-row-{int(cells[2]):04}"
        if response in scores[cells[0]]:
            raise InputError(f"{place}: {cells[0]} has two scores of {response}")
        scores[cells[0]][response] = parse_decimal(cells[3], place)
    return scores


def count_large_weights(runs: Sequence[IdkRegression], limit: float) -> list[int]:
    """Return how many weights of each run exceed a limit."""
    return [int(np.sum(np.abs(fitted.weights) > limit)) for fitted in runs]


def find_missing_files(root: Path | None = None) -> list[DatasetFile]:
    """The files of the authors that are not in the data folder."""
    return [file for file in (WEIGHTS, PREDICTIONS) if not ((root or data_home()) / file.path).is_file()]


def _find_file(file: DatasetFile, root: Path | None) -> Path:
    path = (root or data_home()) / file.path
    if not path.is_file():
        raise InputError(f"{path}: no such file; {file.reason}")
    return path
