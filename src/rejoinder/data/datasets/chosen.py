"""CHOSEN (Sato et al. 2020): human scores of the candidates of a response-selection test set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from rejoinder.data.dataset import NO_LICENCE, Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, read_json_lines, read_lines
from rejoinder.errors import InputError
from rejoinder.types import Candidate, Question, Record, Turn

_FOLDER = "judgements/eval_via_selection"
_SCORES = DatasetFile(
    f"{_FOLDER}/human_scores.jsonl",
    "5e8e4b537ca743ba37922e4536b43f1377803a9af5a47c1fcdb6a48c285fc361",
    70311,
    "cl-tohoku/eval-via-selection",
    "1476b354ab650365cbc7166c1f34dd31aa15ba16",
    "human_scores.jsonl",
)
_TEXTS = DatasetFile(
    f"{_FOLDER}/recovered_context_and_ground_truth.jsonl",
    "ed70ef2813d65d7135d8f1cfb8b8951c995d967e302f66e6e7b8f1eab343d636",
    215854,
    reason="the contexts were recovered from DailyDialog for this project and cannot be downloaded as one file",
)


def _read(root: Path) -> Iterator[Record]:
    scores = [_parse_scores(line, place) for place, line in read_lines(root / _SCORES.path)]
    for row in read_json_lines(root / _TEXTS.path):
        number = row.whole("question")
        if number >= len(scores):
            raise row.wrong("question", f"below {len(scores)}, the number of scored questions")
        truth = scores[number][0]
        context = tuple(Turn(text) for text in row.texts("context"))
        candidate = Candidate(row.text("ground_truth"), "0", sum(truth) / len(truth), "ground-truth")
        yield Question(f"chosen-{number:04}", context, (candidate,), meta={"scores": scores[number]})


def _parse_scores(line: str, place: str) -> list[list[int]]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{place}: not valid JSON ({error.msg})") from None
    row = DatasetRow({"scores": value}, place)
    lists = [DatasetRow({"scores": values}, place).wholes("scores") for values in row.values("scores")]
    if not lists or not all(lists):
        raise row.wrong("scores", "a list of lists of numbers")
    return lists


DATASETS = (
    Dataset(
        "chosen",
        "605 of the 1,019 questions of the CHOSEN test set: the context, the true reply and its scores by five people",
        (_SCORES, _TEXTS),
        NO_LICENCE,
        "Sato, Akama, Ouchi, Suzuki, Inui 2020 (ACL)",
        {"questions": 605},
        "A question has one candidate, the true reply (source `ground-truth`), whose grade is the mean of its five "
        "scores (1 to 5, 0 for ungrammatical). The three false candidates come from OpenSubtitles and their texts "
        "are not included; the scores of all four are in meta under `scores`, the true reply first. The other 414 "
        "questions have no recovered context and are left out. This is too little for a selection test; use it as "
        "contexts with a true reply that people confirmed.",
        _read,
    ),
)
