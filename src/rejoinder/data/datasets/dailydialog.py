"""DailyDialog (Li et al. 2017): dialogues written for learners of English, in their raw text files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.dataset_reader import alternate_speakers, read_lines
from rejoinder.errors import InputError
from rejoinder.types import Dialogue, Record

_END = "__eou__"
_NOTES = (
    "A dialogue is a line of the file; its id is the split and the line counted from 0 (`test-73`). The file names no "
    "speakers; two people alternate, and are called A and B. Some dialogues occur twice, also across the splits, as "
    "published. The digests are those of the copy that this project used, which may differ from the authors' "
    "archive in details such as apostrophes; other copies can be read too. **For training use "
    "`corpus/dialogues`**, whose DailyDialog part has no dialogue from the other splits and none that was judged."
)
_REASON = (
    "DailyDialog is published as an archive by its authors (yanran.li/dailydialog): unpack it and put its "
    "dialogues_*.txt under $REJOINDER_DATA/corpora/dailydialog"
)


def _file(split: str, sha256: str, size: int) -> DatasetFile:
    path = f"corpora/dailydialog/dialogues_{split}.txt"
    return DatasetFile(path, sha256, size, reason=_REASON)


def _read(root: Path, file: DatasetFile, split: str) -> Iterator[Record]:
    for number, (place, line) in enumerate(read_lines(root / file.path)):
        turns = line.split(_END)
        if not turns[-1].strip():
            turns.pop()
        if not turns or not all(turn.strip() for turn in turns):
            raise InputError(f"{place}: a turn is empty; turns end with {_END}")
        yield Dialogue(f"{split}-{number}", alternate_speakers(turns), "dailydialog", split)


def _dataset(split: str, count: int, file: DatasetFile) -> Dataset:
    return Dataset(
        f"dailydialog/{split}",
        f"the {split} split of DailyDialog",
        (file,),
        "CC BY-NC-SA 4.0",
        "Li, Su, Shen, Li, Cao, Niu 2017 (IJCNLP)",
        {"dialogues": count},
        _NOTES,
        partial(_read, file=file, split=split),
    )


DATASETS = (
    _dataset(
        "train", 11118, _file("train", "71633bd5fdb0b09dd82215b131b56432cf7329a0fe50bc8adec168713d350d1a", 6041183)
    ),
    _dataset(
        "valid", 1000, _file("validation", "2ad64701fe3a4449e7a6ee7cdc6c2a71c80f77b8a34f708ac0532395f499081c", 558030)
    ),
    _dataset("test", 1000, _file("test", "3c323651cdfb09f7b529f850eddf96a638fc6cc9b43330b77956ab248484a1a8", 544208)),
)
