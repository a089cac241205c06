"""Records sorted by conversation, whatever order they came in: items first, then what refers to them.

The one step that needs a shuffle. It goes through a temporary SQLite file, not through memory.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from rejoinder.data.schema import Place, from_object
from rejoinder.data.writer import encode_record
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Item, Preference, Question, Rating, Record, Response

_CREATE_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE record
    (n INTEGER PRIMARY KEY, rank INTEGER, file TEXT, line INTEGER, up TEXT, conversation TEXT, raw BLOB);
CREATE TABLE item (id TEXT PRIMARY KEY, conversation TEXT) WITHOUT ROWID;
CREATE TABLE response (id TEXT PRIMARY KEY, item TEXT) WITHOUT ROWID;
"""
_RESOLVE_CONVERSATIONS = """
UPDATE record SET up = (SELECT item FROM response WHERE id = up) WHERE rank = 3;
UPDATE record SET conversation = (SELECT conversation FROM item WHERE id = up) WHERE conversation IS NULL;
CREATE INDEX of_conversation ON record (conversation, n);
CREATE TABLE conversation AS SELECT conversation AS name, min(n) AS first FROM record GROUP BY conversation;
CREATE INDEX by_first ON conversation (first);
"""
_SELECT_IN_ORDER = """
SELECT record.file, record.line, record.raw FROM conversation JOIN record ON record.conversation = conversation.name
ORDER BY conversation.first, record.rank, record.n
"""


def group_by_conversation(records: Iterable[tuple[Record, Place]]) -> Iterator[tuple[Record, Place]]:
    """Yield the records by conversation, in the order in which the conversations first appear."""
    with tempfile.TemporaryDirectory(prefix="rejoinder-gathering-") as folder:
        database = sqlite3.connect(Path(folder) / "records.sqlite", isolation_level=None)
        try:
            database.executescript(_CREATE_TABLES)
            database.execute("BEGIN")
            for number, (record, place) in enumerate(records):
                _insert_record(database, number, record, place)
            database.execute("COMMIT")
            database.executescript(_RESOLVE_CONVERSATIONS)
            _check_references(database)
            for file, line, raw in database.execute(_SELECT_IN_ORDER):
                place = Place(file, line)
                yield from_object(orjson.loads(raw), place, allow_empty=True), place
        finally:
            database.close()


def _insert_record(database: sqlite3.Connection, number: int, record: Record, place: Place) -> None:
    rank, up, conversation = 0, None, None
    match record:
        case Dialogue():
            conversation = record.id
        case Item() | Question():
            rank, conversation = 1, record.dialogue or record.id
            database.execute("INSERT OR IGNORE INTO item VALUES (?, ?)", (record.id, conversation))
        case Response():
            rank, up = 2, record.item
            database.execute("INSERT OR IGNORE INTO response VALUES (?, ?)", (record.id, record.item))
        case Rating():
            rank, up, conversation = (3, record.response, None) if record.response else (4, None, record.dialogue)
        case Preference():
            rank, up = 5, record.item
    row = (number, rank, place.file, place.line, up, conversation, encode_record(record))
    database.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _check_references(database: sqlite3.Connection) -> None:
    dangling = database.execute("SELECT file, line, raw FROM record WHERE conversation IS NULL ORDER BY n").fetchone()
    if dangling is not None:
        file, line, raw = dangling
        raise InputError(
            f"{Place(file, line)}: refers to a record that is not in the input ({brief(raw.decode()[:200])}); add that "
            "record, or also name the file that has it"
        )
