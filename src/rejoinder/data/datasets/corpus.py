"""The dialogue corpus that this project trains on, with one split that every part of the project uses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rejoinder.data.dataset import Dataset, DatasetFile
from rejoinder.data.reader import stream
from rejoinder.errors import InputError
from rejoinder.types import Dialogue, Record

_REASON = "the corpus was made for this project from other publications and cannot be downloaded as one file"


def _read(root: Path, file: DatasetFile) -> Iterator[Record]:
    path = root / file.path
    for record in stream(path):
        if not isinstance(record, Dialogue):
            raise InputError(f"{path.name}: must hold dialogues only, found a {type(record).__name__.lower()}")
        yield record


_DIALOGUES = DatasetFile(
    "corpora/dialogues.jsonl.gz",
    "55fa5955e5f0770463ee45acfd33ecde67ee6c371d62dc3b7d072c32f7798347",
    21784499,
    reason=_REASON,
)
_ASSISTANT = DatasetFile(
    "corpora/assistant.jsonl.gz",
    "2448a6e65ab4a3e2cc8d0b8f71a9064102baf482f660bb600749bc34da3fae2a",
    4695992,
    reason=_REASON,
)
_SPLIT = (
    "Every dialogue has a `corpus` and a `split` (train, valid, test): train on the first, choose on the second, "
    "report on the third. Adjacent turns of one speaker are joined."
)

DATASETS = (
    Dataset(
        "corpus/dialogues",
        "124,832 dialogues of twelve kinds, from films to meetings",
        (_DIALOGUES,),
        "mixed, some non-commercial: see the notes",
        "the sources named in the notes",
        {"dialogues": 124832},
        f"{_SPLIT} Dialogues that share adjacent turns with a judged context are removed, and near-duplicates, "
        "days of IRC and meetings are never divided between splits. Sources: Cornell movie dialogues (82,342; "
        "Danescu-Niculescu-Mizil, Lee 2011; no licence stated), Ubuntu IRC (13,826; Kummerfeld et al. 2019; CC BY "
        "4.0), DailyDialog (8,852; Li et al. 2017; CC BY-NC-SA 4.0), DREAM (3,860; Sun et al. 2019; non-commercial), "
        "CMU DoG (3,366; Zhou et al. 2018; no licence stated), Friends (3,027; Chen, Choi 2016; annotations MIT), "
        "EmpatheticDialogues (2,769; Rashkin et al. 2019; CC BY-NC 4.0), Commonsense-Dialogues (2,315; Zhou et al. "
        "2021; CC BY-NC 4.0), MRDA (1,274; Shriberg et al. 2004; GPL-3.0 mirror), Switchboard (1,114; Stolcke et al. "
        "2000; GPL-3.0 mirror), Topical-Chat (1,073; Gopalakrishnan et al. 2019; CDLA-Sharing 1.0), Persuasion for "
        "Good (1,014; Wang et al. 2019; Apache-2.0).",
        partial(_read, file=_DIALOGUES),
    ),
    Dataset(
        "corpus/assistant",
        "20,903 dialogues between a user and an assistant",
        (_ASSISTANT,),
        "CC BY-SA 4.0 (sgd), CC BY 4.0 (taskmaster4)",
        "Rastogi et al. 2020 (AAAI); Google Research 2024 (Taskmaster-4)",
        {"dialogues": 20903},
        f"{_SPLIT} Speakers are `user` and `assistant`. Sources: Schema-Guided Dialogue (17,193, in its own splits) "
        "and Taskmaster-4 (3,710).",
        partial(_read, file=_ASSISTANT),
    ),
)
