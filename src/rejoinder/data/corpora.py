"""The dialogues that a model is trained on: files, or the published corpora."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rejoinder.data.inputs import Input
from rejoinder.data.validation import Ledger
from rejoinder.types import Dialogue

DEFAULT = ("dataset:corpus/dialogues", "dataset:corpus/assistant")


def dialogues_of(given: Sequence[str]) -> Iterator[Dialogue]:
    """The dialogues of files; one without a corpus goes by the name of its file."""
    ledger = Ledger()
    for one in given:
        opened = Input(one)
        try:
            for record, place in opened.records(allow_empty=True):
                if isinstance(record, Dialogue) and ledger.add(record, place):
                    yield record if record.corpus else replace(record, corpus=opened.stem)
        finally:
            opened.close()
