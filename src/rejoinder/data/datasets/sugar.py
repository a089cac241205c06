"""SUGAR (Otani, Araki, Kim, Hovy 2023): which reply suits a request in a situation; five folds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.dataset_reader import DatasetRow, pick_by_index, read_json_lines
from rejoinder.types import Candidate, Question, Record, Statement, Turn

_GRADES = ("Bad", "Acceptable", "Best")
_DISTRACTORS = ("5", "10", "15")
_NOTES = (
    "A question is a request to an assistant (one turn, speaker `user`) in a situation of 12 statements, with three "
    "candidates graded `Bad`, `Acceptable` or `Best`. A statement has its category as in the file (`possession`, "
    "`environment`, `behavior`, `location`, `time`, `date`) and is `relevant` if it belongs to the reply that was "
    "written for the request (the paper's S1). That reply is the candidate whose source is `reference`; the others "
    "(`distractor`) were written for other requests and chosen by adversarial filtering. The id of a candidate is the "
    "example that it was written for; the question's id is its own. Meta: `goal` (what the person wants), `polarity` "
    "(whether the reference says yes or no), `has_bad` (**the paper leaves questions without a Bad candidate out of "
    "validation and test; they are kept here**), and for the test of robustness `expanded`, a longer list of "
    "statements, with `distractors`, the positions in it of 5, 10 or 15 statements that do not matter. The training "
    "split of a fold is all that is neither in its test nor in its dev file."
)
_COUNTS = {"train": (1235, 1248, 1219, 1239, 1247), "dev": (164, 160, 191, 157, 180), "test": (361, 352, 350, 364, 333)}
_TEST = (
    ("d2281174a5fec740eb0a238e8319021e68f0c32f0cf324010a016165265fa9dc", 2101598),
    ("8b80c17208f6818bfe13bfc41500680036b7732d8c9811c6e4a6dbbf9e4ba024", 2009424),
    ("9ff47b4583ce9911716c563c9f4ca8e58bf59d35cf4308852e5d8ec725d04720", 1962494),
    ("1d45c073ae35a8d1dc55cccd3a4e3f9d261ce4d6e9cb8be067d6c79a5d519588", 2084136),
    ("fddd60dc03e97fcd9985a8a66314fc0db978f3adc7a64e033c8b3cce58fb35ca", 1906851),
)
_DEV = (
    ("3968d816460bb43b90a9f311ad6dcee70eab93f53971bc22245caa86f9b29f97", 926834),
    ("b6e90d7d6d716689e2219e9c7eca756cd60749c043e3ede5f9117248e9e4bb50", 907532),
    ("92fce06a95031e6ddfe220df9e1e6427733c4a49a708968ebd1a31f195fd4434", 1084286),
    ("1d8d598d40b5e76a759d9731ecd74e61ba757a07e13d1a37a2590674564b5dd6", 888178),
    ("6854e90b9b8e00c9033c7f150df751c8d4037be910320442a0936e4c967da6bb", 1056135),
)


def _file(name: str, sha256: str, size: int) -> DatasetFile:
    repository, commit = "notani/sugar-conversational-dataset", "79741167c9509038948fd6120c37076466f7591d"
    return DatasetFile(f"judgements/sugar/cv5/{name}", sha256, size, repository, commit, f"data/v4.1.1/cv5/{name}")


_TEST_FILES = tuple(_file(f"{fold}/tst.json", *published) for fold, published in enumerate(_TEST))
_DEV_FILES = tuple(_file(f"{fold}/dev.json", *published) for fold, published in enumerate(_DEV))


def _read(root: Path, file: DatasetFile, split: str) -> Iterator[Record]:
    for row in read_json_lines(root / file.path):
        yield _question(row, split)


def _read_train(root: Path, fold: int) -> Iterator[Record]:
    dev_questions = {row.whole("index") for row in read_json_lines(root / _DEV_FILES[fold].path)}
    for other, file in enumerate(_TEST_FILES):
        if other != fold:
            for row in read_json_lines(root / file.path):
                if row.whole("index") not in dev_questions:
                    yield _question(row, "train")


def _question(row: DatasetRow, split: str) -> Question:
    candidates = (
        _candidate(row, "reference"),
        *(_candidate(distractor, "distractor") for distractor in row.rows("r.distractors")),
    )
    situation = _situation(row, "s")
    expanded = _situation(row, "s.expanded")
    meta: dict[str, Any] = {
        "goal": row.text("g"),
        "polarity": row.text("polarity"),
        "has_bad": any(candidate.grade == "Bad" for candidate in candidates),
        "expanded": [{"text": s.text, "category": s.category, "relevant": s.relevant} for s in expanded],
        "distractors": {n: _positions(row, f"s.expanded.dist.sents.indices.{n}", len(expanded)) for n in _DISTRACTORS},
    }
    return Question(
        str(row.whole("index")), (Turn(row.text("u"), "user"),), candidates, situation, split=split, meta=meta
    )


def _candidate(row: DatasetRow, source: str) -> Candidate:
    grade = pick_by_index(_GRADES, row.whole("r.label"), row, "r.label")
    return Candidate(row.text("r"), str(row.whole("index")), grade, source)


def _situation(row: DatasetRow, key: str) -> tuple[Statement, ...]:
    texts, categories = row.texts(f"{key}.sents"), row.texts(f"{key}.labels")
    if len(texts) != len(categories):
        raise row.wrong(f"{key}.labels", f"as many as the {len(texts)} statements")
    relevant = set(_positions(row, f"{key}.gold.sents.indices", len(texts)))
    return tuple(
        Statement(text, category, i in relevant)
        for i, (text, category) in enumerate(zip(texts, categories, strict=True))
    )


def _positions(row: DatasetRow, key: str, count: int) -> list[int]:
    positions = row.wholes(key)
    if not all(0 <= i < count for i in positions):
        raise row.wrong(key, f"positions below {count}")
    return positions


def _list_datasets() -> Iterator[Dataset]:
    for fold in range(len(_TEST_FILES)):
        test, dev = _TEST_FILES[fold], _DEV_FILES[fold]
        others = tuple(file for file in _TEST_FILES if file is not test)
        for part, files, read in (
            ("train", (dev, *others), partial(_read_train, fold=fold)),
            ("dev", (dev,), partial(_read, file=dev, split="valid")),
            ("test", (test,), partial(_read, file=test, split="test")),
        ):
            yield Dataset(
                f"sugar/{fold}/{part}",
                f"requests with a situation and three graded replies: {part} split of fold {fold}",
                files,
                "CC BY-SA 4.0",
                "Otani, Araki, Kim, Hovy 2023 (ACL)",
                {"questions": _COUNTS[part][fold]},
                _NOTES,
                read,
            )


DATASETS = tuple(_list_datasets())
