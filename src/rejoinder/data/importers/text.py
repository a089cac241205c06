"""Text files side by side: line N of the replies answers line N of the contexts."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._files import read_decoded_lines, stem_of
from rejoinder.data.importers._last_turn import RowAnswers, drop_last_turn
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.schema import Place
from rejoinder.errors import InputError
from rejoinder.paths import printable
from rejoinder.types import Item, Reference, Response, Turn

PREFIX = "text:"
SUMMARY = "text files line by line, as text:CONTEXTS,REPLIES or text:CONTEXTS,REPLIES,REFERENCES"
TAKES = frozenset({"system", "separator", "empty", "max_turns", "last_turn", "markup"})


def is_text_input(name: str) -> bool:
    """Whether a name stands for text files side by side."""
    return name.startswith(PREFIX) and not os.path.exists(name)


def split_names(name: str) -> list[str]:
    """Return the files of ``text:CONTEXTS,REPLIES``; further ones hold references."""
    names = [part.strip() for part in name.removeprefix(PREFIX).split(",")]
    if len(names) < 2 or not all(names):
        raise InputError(
            f"{printable(name)}: name two text files, of contexts and of replies, with a comma between them: "
            f"rejoinder score {PREFIX}CONTEXTS,REPLIES"
        )
    return names


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield an item and a response for each line."""
    name = str(options.file.path if options.file else path)
    if name == "-" or not name.startswith(PREFIX):
        name = "-" if name == "-" else shlex.quote(printable(name))
        raise InputError(
            f"{name}: is one text file, but replies need the contexts beside them; name both: "
            f"rejoinder import text {PREFIX}CONTEXTS,REPLIES"
        )
    sources = [File(Path(one), printable(one), stem_of(printable(Path(one).name))) for one in split_names(name)]
    contexts, replies = sources[:2]
    system = options.system or options.unnamed or replies.stem
    if options.system is None:
        tally.note_system(system)
    stripper = MarkupStripper(options, tally)
    for number, lines in enumerate(_read_side_by_side(sources), start=1):
        place = Place(replies.name, number)
        context, reply, *references = (line.strip("\r\n") for line in lines)
        parts = context.split(_unescape(options.separator)) if options.separator else [context]
        turns = stripper.turns([{"text": part.strip()} for part in parts if part.strip()], [reply])
        reply = stripper.reply(reply, turns, any("speaker" in turn for turn in turns))
        if not reply.strip() and options.empty != "keep":
            if options.empty == "drop":
                tally.left_out["empty replies"] += 1
                continue
            raise InputError(
                f"{place}: the reply is empty; keep it as a NaN with: rejoinder score {shlex.quote(name)} --empty nan"
            )
        references = [plain for text in references if (plain := stripper.reply(text)).strip()]
        answers = RowAnswers([reply] if reply.strip() else [], references, [])
        turns = drop_last_turn(turns, answers, options, tally, place)
        item = Item(
            f"{contexts.stem}-{number}",
            tuple(Turn(turn["text"], turn.get("speaker")) for turn in turns),
            tuple(Reference(text) for text in references),
        )
        yield ImportedRecord(item, place)
        yield ImportedRecord(Response(f"{item.id}/{system}", item.id, system, reply), place)


def _unescape(separator: str) -> str:
    return separator.replace("\\t", "\t")


def _read_side_by_side(sources: list[File]) -> Iterator[tuple[str, ...]]:
    """Yield the lines with the same number; files of different lengths are an error, up to blank lines at the end."""
    for number, lines in enumerate(itertools.zip_longest(*map(read_decoded_lines, sources)), start=1):
        shorter = [source for source, line in zip(sources, lines, strict=True) if line is None]
        if not shorter:
            yield tuple(line or "" for line in lines)
            continue
        longer = [source for source, line in zip(sources, lines, strict=True) if line and line.strip()]
        if longer:
            counts = [sum(1 for _ in read_decoded_lines(source)) for source in (longer[0], shorter[0])]
            raise InputError(
                f"{longer[0].name}: has {counts[0]:,} lines but {shorter[0].name} has {counts[1]:,}, so line "
                f"{number:,} has no counterpart; see their ends with: tail -n 3 {shlex.quote(longer[0].name)} "
                f"{shlex.quote(shorter[0].name)}"
            )
