"""What an importer is: a module with a summary, the options it takes, and a function that reads."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, cast

from rejoinder.data.schema import Place
from rejoinder.errors import SpecError
from rejoinder.registry import Registry
from rejoinder.table import list_names
from rejoinder.types import Dialogue, Item, Record, Reference, Response

# The options of the library, and how they are typed on the command line.
FLAGS = {
    "system": "--system",
    "fields": "--field",
    "separator": "--separator",
    "rater": "--rater",
    "form": "--as",
    "empty": "--empty",
    "split": "--split",
    "delimiter": "--delimiter",
    "quotes": "--no-quotes",
    "max_turns": "--max-turns",
    "sheet": "--sheet",
    "bots": "--bot",
    "companion": "--with",
    "repeats": "--repeats",
    "chain": "--chain",
    "markup": "--markup",
    "last_turn": "--last-turn",
}
_MAX_NAMES = 12
_FIRST_FIELDS = {"context": 0, "chosen": 1, "rejected": 2, "response": 3, "system": 4, "reference": 5, "rating": 8}


class File(NamedTuple):
    """A file, its name in errors, and its path below the imported folder without endings."""

    path: Path
    name: str
    stem: str
    # How errors count its entries.
    place: type[Place] = Place


@dataclasses.dataclass(frozen=True)
class ImportOptions:
    """How to read a foreign file; each importer takes some of these options and refuses the others."""

    # Who wrote the replies, if the file does not say.
    system: str | None = None
    # Pairs of a field of ours and the column, or key, that holds it; some fields may be given several times.
    fields: tuple[tuple[str, str], ...] = ()
    # The separator between turns, if a whole context is one string.
    separator: str | None = None
    # Who gave the ratings, if the file does not say.
    rater: str | None = None
    # What a dialogue becomes: itself, or one item per turn after its first.
    form: Literal["dialogues", "items"] | None = None
    # What an empty reply becomes: an error, a response with an empty text, or nothing (counted).
    empty: Literal["error", "keep", "drop"] = "error"
    split: str | None = None
    delimiter: str | None = None
    quotes: bool = True
    # How many turns of a context to keep, counted from its end.
    max_turns: int | None = None
    # Which sheet of a spreadsheet to read; by default, the first.
    sheet: str | None = None
    # The authors whose messages are replies, if each row is a message.
    bots: tuple[str, ...] = ()
    # A file that belongs to the imported one: the requests of a batch, or the ratings of an export.
    companion: str | None = None
    # What rows with the same context, system and reply are, if neither an id nor a rater tells them apart: one reply,
    # or replies of their own.
    repeats: Literal["same", "apart"] | None = None
    # Whether the rows of one conversation, each of one turn and its reply, are read as one dialogue in that order.
    chain: bool = False
    # Whether tags of chat templates, reasoning and the names in transcripts are markup, or part of the texts.
    markup: Literal["strip", "keep"] = "strip"
    # What becomes of a bot's turn at the end of a context: it is another reply, or was said before the reply.
    last_turn: Literal["drop", "keep"] | None = None
    # The system if neither the file nor ``system`` names one (no flag: for callers).
    unnamed: str | None = None
    # The file to read, if its name is not that of its path (no flag: for callers).
    file: File | None = None

    def check(self, name: str, takes: frozenset[str]) -> None:
        """Raise if an option is set that the importer does not take, or that makes no sense."""
        for field in dataclasses.fields(self):
            if field.name in FLAGS and getattr(self, field.name) != field.default and field.name not in takes:
                known = ", ".join(flag for option, flag in FLAGS.items() if option in takes) or "no options"
                raise SpecError(f"the importer {name!r} does not take {FLAGS[field.name]}; it takes {known}")
        if self.max_turns is not None and self.max_turns < 1:
            raise SpecError(f"--max-turns must be at least 1, not {self.max_turns}")
        if self.max_turns is not None and "form" in takes and self.form != "items":
            raise SpecError("--max-turns shortens the contexts of items; give --as items with it")
        for option in ("system", "rater", "separator", "split"):
            value = getattr(self, option)
            if value is not None and (not value or (option != "separator" and value.isspace())):
                raise SpecError(f"{FLAGS[option]} is empty; give it a value or leave it out")


class EntryPlace(Place):
    """Where a record was read in a file that is not made of lines."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.file} entry {self.line}"


class ImportedRecord(NamedTuple):
    """A record, and where it was read."""

    record: Record
    place: Place


class RowReplies(NamedTuple):
    """The replies of one row, and its own ratings by aspect."""

    responses: list[str]
    ratings: dict[str, list[float]]


@dataclasses.dataclass
class ImportTally:
    """How many records came out of an import, what was left out and why."""

    records: Counter[str] = dataclasses.field(default_factory=Counter)
    systems: Counter[str] = dataclasses.field(default_factory=Counter)
    # Reasons in the plural, such as "tool messages".
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)
    # Columns, or keys, that were not used.
    unused: set[str] = dataclasses.field(default_factory=set)
    # Columns, or keys, that were used, with the field that each one holds.
    columns: dict[str, str] = dataclasses.field(default_factory=dict)
    # What was done to texts, such as "transcripts split into turns", with how many.
    changes: Counter[str] = dataclasses.field(default_factory=Counter)
    # What else was done to read the file, such as "rows = the list data".
    notes: list[str] = dataclasses.field(default_factory=list)
    # What a reader of the numbers must know, as sentences without a full stop.
    remarks: list[str] = dataclasses.field(default_factory=list)
    # The system of replies for which the file names none.
    unnamed: str | None = None
    # The replies of each row of a table in memory, and their ratings by aspect; None: not asked for.
    rows: dict[int, RowReplies] | None = None

    def note_columns(self, columns: Mapping[str, str]) -> None:
        """Remember which column holds which field."""
        self.columns.update({column: field for column, field in columns.items() if column not in self.columns})

    def note_system(self, name: str) -> None:
        """Remember the system that replied where the file does not say it."""
        self.unnamed = name

    def describe_columns(self) -> str:
        """Return what was taken for what, in one line; empty if there is nothing to say."""
        ordered = sorted(self.columns.items(), key=lambda pair: _FIRST_FIELDS.get(pair[1].partition(":")[0], 9))
        parts = [f"{column} -> {field}" for column, field in ordered if column != field]
        if self.unnamed is not None:
            parts.append(f"system = {self.unnamed} (not in the file)")
        changes = [f"{change} ({number:,})" for change, number in self.changes.items()]
        return list_names(parts + self.notes + changes, _MAX_NAMES)

    def describe_rest(self) -> list[str]:
        """Return what was not used or left out, and what a reader must know; "left out: nothing" if that is all."""
        parts = (
            ["not used: " + list_names(sorted(str(name).strip() or "(no name)" for name in self.unused), _MAX_NAMES)]
            if self.unused
            else []
        )
        parts += [f"left out: {self.left_out_as_text()}"] if self.left_out else []
        return [*(parts or ["left out: nothing"]), *self.remarks]

    @property
    def is_clean(self) -> bool:
        """Whether every column and row was used, and nothing has to be said about them."""
        return not (self.unused or self.left_out or self.remarks or self.changes)

    def add(self, record: Record) -> None:
        """Count a record that came out."""
        self.records[type(record).__name__.lower()] += 1
        if isinstance(record, Response):
            self.systems[record.system] += 1

    def summary(self, name: str) -> str:
        """Return what happened in the import, in a few lines."""
        kinds = ", ".join(f"{number:,} {_pluralise(kind, number)}" for kind, number in self.records.items())
        lines = [f"{name}: {kinds}"]
        if self.describe_columns():
            lines.append(f"columns: {self.describe_columns()}")
        if self.systems:
            lines.append("systems: " + list_names([f"{s} ({n:,})" for s, n in self.systems.most_common()], _MAX_NAMES))
        return "\n".join(lines + self.describe_rest())

    def left_out_as_text(self) -> str:
        """Return the reasons with their counts, the largest first."""
        ordered = sorted(self.left_out.items(), key=lambda pair: (-pair[1], pair[0]))
        return ", ".join(f"{reason} ({number:,})" for reason, number in ordered)


def _pluralise(kind: str, number: int) -> str:
    return kind if number == 1 else f"{kind}s"


class Importer(Protocol):
    """A module of this folder."""

    SUMMARY: str
    TAKES: frozenset[str]

    def read(self, path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
        """Yield the records, each with its place; what is left out is counted in ``tally``."""


_REGISTRY: Registry[Importer] = Registry("rejoinder.data.importers", "importer", lambda module: cast(Importer, module))


def importer_names() -> list[str]:
    """Return the names of all formats that can be imported."""
    return _REGISTRY.names()


def importer(name: str) -> Importer:
    """Return the importer of a format, by the name a user typed."""
    return _REGISTRY.load(name)


ONE_TURN = "dialogues of one turn"


def convert_dialogue(dialogue: Dialogue, options: ImportOptions, tally: ImportTally) -> Iterator[Record]:
    """Yield the dialogue in the form that the options ask for."""
    if options.form != "items":
        yield dialogue
    elif len(dialogue.turns) < 2:
        tally.left_out[ONE_TURN] += 1
    else:
        yield from split_into_items(dialogue)


def split_into_items(dialogue: Dialogue) -> Iterator[Item]:
    """Yield one item per turn after the first, with that turn as reference; the id ends in the context's length."""
    for n in range(1, len(dialogue.turns)):
        yield Item(
            id=f"{dialogue.id}/{n}",
            context=dialogue.turns[:n],
            references=(Reference(dialogue.turns[n].text),),
            future=dialogue.turns[n + 1 :],
            dialogue=dialogue.id,
            meta=dialogue.meta,
        )
