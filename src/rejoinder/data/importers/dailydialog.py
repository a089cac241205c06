"""DailyDialog (Li et al. 2017): one dialogue per line, ``__eou__`` after each turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally, convert_dialogue
from rejoinder.data.importers._files import files, read_text_lines
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Turn

SUMMARY = "DailyDialog's text: one dialogue per line, __eou__ between the turns"
TAKES = frozenset({"form", "max_turns"})
_MARK = "__eou__"
_TEXT = re.compile(r"dialogues_(text|train|validation|test)\.txt(\.gz)?")
_SPLITS = {"train": "train", "validation": "valid", "test": "test"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the dialogues of a file, or of the files in a folder that hold the texts."""
    for file in _find_files(path, tally):
        split = _SPLITS.get(file.stem.rpartition("_")[2])
        for place, line in read_text_lines(file):
            if not line.strip():
                continue
            if _MARK not in line:
                raise InputError(
                    f"{place}: has no {_MARK} (found {brief(line.strip())}); this is not DailyDialog's text"
                )
            *texts, rest = (part.strip() for part in line.split(_MARK))
            # Most lines end with the mark; in a line that does not, the text after the last mark is a turn too.
            texts += [rest] if rest else []
            # The speakers alternate, even across an empty turn.
            turns = tuple(Turn(text, "AB"[n % 2]) for n, text in enumerate(texts) if text)
            tally.left_out.update({"empty turns": len(texts) - len(turns)} if len(turns) < len(texts) else {})
            if not turns:
                tally.left_out["dialogues without a turn"] += 1
                continue
            dialogue = Dialogue(f"{file.stem}-{place.line}", turns, "dailydialog", split)
            for record in convert_dialogue(dialogue, options, tally):
                yield ImportedRecord(record, place)


def _find_files(path: Path, tally: ImportTally) -> list[File]:
    candidates = files(path, (".txt",), tally)
    if not path.is_dir():
        return candidates
    # The published folder also holds acts and emotions, and all texts again in one file.
    texts = [file for file in candidates if _TEXT.fullmatch(Path(file.name).name)]
    split = [file for file in texts if not Path(file.name).name.startswith("dialogues_text")]
    if not texts:
        raise InputError(f"{path}: has no dialogues_train.txt, dialogues_validation.txt or dialogues_test.txt")
    return split or texts
