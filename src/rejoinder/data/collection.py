"""A whole input in memory, every record under its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.data.dialogue_places import place_responses
from rejoinder.data.importer import RowReplies
from rejoinder.data.reader import InputFile, decode_json_line
from rejoinder.data.schema import Place, from_object
from rejoinder.data.validation import IdChecker
from rejoinder.errors import InputError
from rejoinder.types import (
    Dialogue,
    Item,
    Pair,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Turn,
)

COLUMN_ATTRIBUTES = ("columns", "column_names", "schema")  # of data frames, Arrow tables and datasets


@dataclass
class Collection:
    """Records by kind; dialogues, items, responses and questions by id, in the order in which they came."""

    dialogues: dict[str, Dialogue] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    responses: dict[str, Response] = field(default_factory=dict)
    questions: dict[str, Question] = field(default_factory=dict)
    ratings: list[Rating] = field(default_factory=list)
    preferences: list[Preference] = field(default_factory=list)
    # What was taken for what in inputs of other formats, one line each.
    imported: list[str] = field(default_factory=list, compare=False)
    # The replies and ratings of each row, by its number, if this was a table in memory.
    rows: dict[int, RowReplies] | None = field(default=None, compare=False)

    def add(self, record: Record) -> None:
        """Add a record; the caller checks that its id is new (``IdChecker``)."""
        match record:
            case Dialogue():
                self.dialogues[record.id] = record
            case Item():
                self.items[record.id] = record
            case Response():
                self.responses[record.id] = record
            case Question():
                self.questions[record.id] = record
            case Rating():
                self.ratings.append(record)
            case Preference():
                self.preferences.append(record)

    def __iter__(self) -> Iterator[Record]:
        """All records, each before those that refer to it."""
        yield from self.dialogues.values()
        yield from self.items.values()
        yield from self.questions.values()
        yield from self.responses.values()
        yield from self.ratings
        yield from self.preferences

    def pairs(self) -> Iterator[Pair]:
        """Every response with its item."""
        responses = list(self.responses.values())
        items = [self.items[response.item] for response in responses]
        places = place_responses(items, responses)
        for item, response, is_last, is_followed in zip(items, responses, *places, strict=True):
            yield Pair(item, response, bool(is_last), bool(is_followed))

    def pair(self, response: str) -> Pair:
        """One response with its item."""
        record = self.responses[response]
        return Pair(self.items[record.item], record)

    def counts(self) -> dict[str, int]:
        """How many records of each kind there are."""
        return {
            name: len(getattr(self, name)) for name in self.__dataclass_fields__ if name not in ("imported", "rows")
        }

    def __repr__(self) -> str:
        return f"Collection({', '.join(f'{n} {name}' for name, n in self.counts().items() if n)})"

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{name}</th><td>{n:,}</td></tr>" for name, n in self.counts().items() if n)
        return f"<table>{cells}</table>"


def collect(records: Iterable[Record], name: str = "records") -> Collection:
    """A collection of records, checked as a file would be; errors count the records from 1.

    - ``records``: items, responses, ratings, dialogues, questions, in any order.
    - ``name``: what errors call them.

    >>> import rejoinder
    >>> data = rejoinder.data.collect(rejoinder.stream("chats.jsonl"))
    >>> len(data.responses) > 0
    True
    """
    checker, collection = IdChecker(), Collection()
    for number, record in enumerate(records, start=1):
        if checker.add(record, Place(name, number)):
            collection.add(record)
    checker.close()
    return collection


def read_files(paths: Sequence[str | Path], allow_empty: bool = False) -> Collection:
    """The records of one or several files as one collection."""
    checker, collection = IdChecker(), Collection()
    for path in paths:
        for line in InputFile(path).lines():
            record = from_object(decode_json_line(line), line.place, allow_empty)
            if checker.add(record, line.place):
                collection.add(record)
    checker.close()
    return collection


def from_lists(
    responses: Sequence[str],
    contexts: Sequence[Sequence[str] | str] | None = None,
    references: Sequence[Sequence[str] | str] | None = None,
    system: str = "system",
) -> Collection:
    """A collection from plain lists: the i-th response answers the i-th context and has the i-th references.

    - ``responses``: the replies.
    - ``contexts``: the turns before each reply, oldest first.
    - ``references``: good replies to each context.
    - ``system``: who wrote the replies.

    >>> import rejoinder
    >>> data = rejoinder.from_lists(["Fine, and you?"], [["How are you?"]], [["Very well, thanks."]])
    >>> len(data.items)
    1
    """
    texts, before, good = (_as_list(values) for values in (responses, contexts, references))
    for name, values in (("contexts", before), ("references", good)):
        if values is not None and len(values) != len(texts or ()):
            raise InputError(
                f"{name} has {len(values)} entries but responses has {len(texts or ())}; give one entry per response"
            )
    width = len(str(max(len(texts or ()) - 1, 0)))
    collection = Collection()
    for i, text in enumerate(texts or ()):
        if not isinstance(text, str):
            raise InputError(f"responses[{i}] is {type(text).__name__}; it must be a string")
        item = Item(
            f"{i:0{width}}",
            tuple(Turn(t) for t in _check_texts(before, i, "contexts")),
            tuple(Reference(t) for t in _check_texts(good, i, "references")),
        )
        collection.items[item.id] = item
        response = Response(f"{item.id}/{system}", item.id, system, text)
        collection.responses[response.id] = response
    return collection


def _refuse_table(data: object) -> None:
    """Raise if a list of texts is a table: iterating over it would yield the names of its columns."""
    if isinstance(data, Mapping) or any(hasattr(type(data), name) for name in COLUMN_ATTRIBUTES):
        raise InputError(
            f"a table ({type(data).__module__.partition('.')[0]}'s {type(data).__name__}) is not a list of texts; pass "
            "one of its columns, or the whole table as the data: rejoinder.score(table)"
        )


def _as_list(values: Iterable[Any] | None) -> list[Any] | None:
    _refuse_table(values)
    return None if values is None else list(values)


def _check_texts(entries: list[Any] | None, i: int, name: str) -> Sequence[str]:
    if entries is None:
        return ()
    texts = (entries[i],) if isinstance(entries[i], str) else entries[i]
    if not isinstance(texts, Iterable) or not all(isinstance(t, str) and t.strip() for t in texts):
        raise InputError(f"{name}[{i}] must be a non-empty string or a list of non-empty strings")
    return tuple(texts)
