"""What the authors released: trained regressions, correlations of every run, scores of three baselines on every row.

The files are collected from the authors' repository, one line per checkpoint, score or file. Their regressions read
BERT's pooled feature, which is not here: weights can be counted and drawn, but not applied to other rows.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
RESULTS = DatasetFile(
    "judgements/idk/authors_results.jsonl.gz",
    "bd78915d2bd07a9ce273de49307b154cc8a2adc57915357aab66fa42929913c5",
    64_977,
    reason=_REASON,
)
DIMENSIONS = 768
EPOCH = 1  # counted from 0: the paper trains for two epochs, the files go on to two or four
BASELINES = ("COS-MAX-BERT", "COS-NSP-BERT", "BERT NSP")
_SETS = dict(zip(("HUMOD", "USR_TC_REL", "P_DD", "FED_COR", "FED_REL"), FIVE, strict=True))
_PREFIXES = {column.name: column.dataset.partition("/")[2] for column in COLUMNS}  # of the ids of responses
_HEADER = ["metric", "set", "row", "score"]
# The correlations of a file in the authors' columns: our cell, and theirs for its Spearman and Pearson.
_OF_TEST = {"S": "spearman", "P": "pearson"}
_OF_VALID = {"HUMOD S": "spearman_h", "HUMOD P": "pearson_h", "USR-TC S": "spearman_tc", "USR-TC P": "pearson_tc"}
_EXPERIMENTS = {"BERT_NSP": "BERT NSP", "BERT_coh": "COS-NSP-BERT", "BERT_max_coh": "COS-MAX-BERT"}
_RESULT = re.compile(r"exp/(?P<experiment>\w+)/(?P<file>results|test_results_(?P<set>\w+))\.csv")
_BASELINE = re.compile(
    r"exp/(?P<metric>BERT_(NSP|coh|max_coh))(?P<set>HUMOD|USR_TC_REL)/(?P<file>results\.csv|predictions\.txt)"
)
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
    """The variant that the authors' name of an experiment stands for."""
    variant = _find_variant(row.text("variant"))
    if variant is None:
        raise row.wrong("variant", "the name of an experiment, such as HUMOD_IDK_bce_L1_wt1_lim3750")
    return variant


def _find_variant(experiment: str) -> IdkVariant | None:
    """The variant that an experiment trained; HUMOD's own distractors are its random negatives."""
    match = _NAME.fullmatch(experiment)
    if match is None:
        return None
    loss: Loss = "bce" if match["loss"] else "triplet"
    data = "H" if match["data"] == "HUMOD" else "TC-S"
    return IdkVariant(data, _NEGATIVES[match["negative"]], _PENALTIES[match["penalty"]], loss)


@dataclass(frozen=True)
class AuthorsResults:
    """The correlations that the authors' programs wrote, by cell ("HUMOD S"), and scores of the validation rows.

    Their regressions give the probability of a false reply, so their correlations with the ratings are negative; here,
    as in the paper, a higher correlation is agreement.
    """

    test: Mapping[IdkVariant, Sequence[Mapping[str, float]]]  # one per run
    valid: Mapping[IdkVariant, Sequence[Mapping[str, float]]]
    baselines: Mapping[str, Mapping[str, float]]  # of the validation rows
    usr_scores: Mapping[str, Sequence[float]]  # of USR's validation rows, in the order of each file


def read_authors_results(root: Path | None = None) -> AuthorsResults:
    """Return what the authors measured: three runs of every variant, and the baselines on validation rows."""
    test: dict[IdkVariant, list[dict[str, float]]] = {variant: [{} for _ in SEEDS] for variant in list_variants()}
    valid: dict[IdkVariant, list[dict[str, float]]] = {variant: [{} for _ in SEEDS] for variant in list_variants()}
    baselines: dict[str, dict[str, float]] = {row: {} for row in BASELINES}
    usr_scores: dict[str, list[float]] = {}
    for row in read_json_lines(_find_file(RESULTS, root)):
        path = row.text("path")
        if (match := _BASELINE.fullmatch(path)) is not None:
            name, column = _EXPERIMENTS[match["metric"]], _SETS[match["set"]]
            if match["file"] == "results.csv":
                [cells] = _read_correlations(row, {f"{column} {kind}": head for kind, head in _OF_TEST.items()}, 1)
                baselines[name] |= cells
            elif column == _SETS["USR_TC_REL"]:
                usr_scores[name] = [parse_decimal(line, row.place) for line in row.text("text").split()]
        elif (match := _RESULT.fullmatch(path)) is not None and (variant := _find_variant(match["experiment"])):
            heads = _OF_VALID
            if match["set"] is not None:
                heads = {f"{_SETS[match['set']]} {kind}": head for kind, head in _OF_TEST.items()}
            runs = (test if match["set"] is not None else valid)[variant]
            for run, cells in zip(runs, _read_correlations(row, heads, len(SEEDS)), strict=True):
                run |= {cell: -value for cell, value in cells.items()}
    for variant in list_variants():
        if not all(len(run) == len(FIVE) * len(_OF_TEST) for run in test[variant]) or not all(valid[variant]):
            raise InputError(f"{RESULTS.path}: results of {variant.short} are missing")
    if any(len(cells) != len(_OF_VALID) for cells in baselines.values()) or set(usr_scores) != set(BASELINES):
        raise InputError(f"{RESULTS.path}: results of {', '.join(BASELINES)} on validation rows are missing")
    return AuthorsResults(test, valid, baselines, usr_scores)


def _read_correlations(row: DatasetRow, heads: Mapping[str, str], n_runs: int) -> list[dict[str, float]]:
    """The correlations in a CSV file of the authors, one line per run."""
    lines = list(csv.DictReader(io.StringIO(row.text("text"))))
    if len(lines) != n_runs or any(line.get(head) is None for line in lines for head in heads.values()):
        raise row.wrong("text", f"a CSV file with {n_runs} lines and the columns {', '.join(heads.values())}")
    return [{cell: parse_decimal(line[head], row.place) for cell, head in heads.items()} for line in lines]


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
    return [file for file in (WEIGHTS, PREDICTIONS, RESULTS) if not ((root or data_home()) / file.path).is_file()]


def _find_file(file: DatasetFile, root: Path | None) -> Path:
    path = (root or data_home()) / file.path
    if not path.is_file():
        raise InputError(f"{path}: no such file; {file.reason}")
    return path
