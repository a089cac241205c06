"""Where the records of an attack come from: files and published sets, each record with a corpus to its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rejoinder.data.ledger import Ledger
from rejoinder.scoring.inputs import Input
from rejoinder.training.corpora import DEFAULT
from rejoinder.types import Dialogue, Item


def records_of(given: Sequence[str]) -> Iterator[Dialogue | Item]:
    """The dialogues and items of files, or of the published corpora where none is named.

    A record without a corpus goes by the name of its file.
    """
    ledger = Ledger()
    for one in given or DEFAULT:
        opened = Input(one)
        try:
            for record, place in opened.records(allow_empty=True):
                if not isinstance(record, Dialogue | Item) or not ledger.add(record, place):
                    continue
                if isinstance(record, Item):
                    yield replace(record, meta={"corpus": opened.stem, **record.meta})
                else:
                    yield record if record.corpus else replace(record, corpus=opened.stem)
        finally:
            opened.close()
