"""DailyDialog++ (Sai et al. 2020): replies that fit, replies written to look as if they did, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, read_json_lines
from rejoinder.types import Candidate, Question, Record, Turn

_GRADES = {
    "positive": "positive_responses",
    "adversarial": "adversarial_negative_responses",
    "random": "random_negative_responses",
}
_NOTES = (
    "A question is a DailyDialog context (without speakers) with 15 candidates: 5 with the grade `positive`, written "
    "by people as fitting replies; 5 `adversarial`, written by people to share words with the context but not to fit; "
    "5 `random`, replies to other contexts. In 24 questions two candidates are equal."
)


def _file(name: str, sha256: str, size: int) -> DatasetFile:
    repository, commit = "iitmnlp/DailyDialog-plusplus", "4b02f9ff671e7e27d8e6b8a1925158bd5729abda"
    return DatasetFile(f"judgements/dailydialogpp/{name}", sha256, size, repository, commit, f"dataset/{name}")


def _read(root: Path, file: DatasetFile, part: str, split: str) -> Iterator[Record]:
    for row in read_json_lines(root / file.path):
        context = tuple(Turn(text) for text in row.texts("context"))
        yield Question(f"{part}-{row.whole('id')}", context, tuple(_candidates(row)), split=split)


def _candidates(row: DatasetRow) -> Iterator[Candidate]:
    for grade, key in _GRADES.items():
        for number, text in enumerate(row.texts(key)):
            yield Candidate(text, f"{grade}-{number}", grade)


def _dataset(part: str, split: str, count: int, file: DatasetFile) -> Dataset:
    return Dataset(
        f"dailydialogpp/{part}",
        f"{count:,} contexts with five fitting, five adversarial and five random replies",
        (file,),
        "MIT",
        "Sai, Mohankumar, Arora, Khapra 2020 (TACL)",
        {"questions": count},
        _NOTES,
        partial(_read, file=file, part=part, split=split),
    )


DATASETS = (
    _dataset(
        "dev",
        "valid",
        1028,
        _file("dev.json", "afbdee92c9ab372f599c605609676fceba517f83286d58555f0404f4364b5bfa", 1226933),
    ),
    _dataset(
        "test",
        "test",
        1142,
        _file("test.json", "e8202c3d4b11008a13061b15c4d8ce1f6d05baa9104a9c1f5caa5450134522fa", 1326667),
    ),
)
