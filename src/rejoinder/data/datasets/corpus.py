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
_PERMISSIVE = DatasetFile(
    "corpora/permissive.jsonl.gz",
    "6a88519bc282e9d6f3833dd8fb8bdcbf23bd28c8bab991b456e9c37b8134edd7",
    36844730,
    reason=_REASON,
)
_ICSI = DatasetFile(
    "corpora/icsi.jsonl.gz",
    "c73aaef71adb07d2e52c96f6bdea347250eb674d9b4c956cd1f9bf44b1a29213",
    808124,
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
    Dataset(
        "corpus/permissive",
        "110,099 dialogues whose licences allow commercial use",
        (_PERMISSIVE,),
        "per corpus: MIT, BSD-3-Clause, CC BY 4.0, CC0, CDLA-Sharing 1.0, CC BY-SA 4.0: see the notes",
        "the sources named in the notes",
        {"dialogues": 110099},
        f"{_SPLIT} Dialogues that share turns with a judged context are removed. Sources: Self-Dialogue "
        "(23,859; BSD-3-Clause), fiction of Standard Ebooks (se_fiction 16,039, se_plays 1,229: public domain, CC0; "
        "se_fiction_us 16,937: public domain in the US only), Changelog podcasts (10,581; CC BY-SA 4.0), "
        "Microsoft's chit-chat (8,894; MIT; many questions share a reply), CRD3 (6,951; Rameshkumar, Bailey 2020; "
        "CC BY-SA 4.0), STAR (5,774; Mosig et al. 2020; MIT), Spacelog (3,862; public domain), BYU Chit-Chat "
        "(3,435; MIT), Wizard of Wikipedia (2,891; Dinan et al. 2019; CC BY 4.0), MultiWOZ (1,917; Budzianowski et "
        "al. 2018; MIT), AMI (1,877; CC BY 4.0), MTS-Dialog (1,689; CC BY 4.0), CaSiNo (1,028; Chawla et al. 2021; "
        "CC BY 4.0), Wizard of the Internet (1,008; CC BY 4.0), ChatterBot (785; BSD-3-Clause), MathDial (599; CC "
        "BY-SA 4.0; partly written by a language model, so `--permissive` leaves it out), Topical-Chat rare (537; "
        "CDLA-Sharing 1.0), ACI-Bench (207; CC BY 4.0).",
        partial(_read, file=_PERMISSIVE),
    ),
    Dataset(
        "corpus/icsi",
        "1,400 pieces of the ICSI meetings",
        (_ICSI,),
        "CC BY 4.0",
        "Janin et al. 2003 (ICASSP)",
        {"dialogues": 1400},
        f"{_SPLIT} The same meetings as mrda in `corpus/dialogues`, from a copy that allows commercial use: train on "
        "one or the other.",
        partial(_read, file=_ICSI),
    ),
)
