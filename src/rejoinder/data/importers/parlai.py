"""ParlAI's text format (Miller et al. 2017): one exchange per line, tab-separated fields, episodes of several lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._files import files, read_text_lines
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.types import Dialogue, Item, Reference, Turn

SUMMARY = "ParlAI's text format: text:...<TAB>labels:...<TAB>episode_done:True"
TAKES = frozenset({"form", "max_turns"})
_SILENCE = "__SILENCE__"
_DONE = {"true": True, "1": True, "false": False, "0": False, "": False}


class _Exchange(NamedTuple):
    """One line: what was said, the possible answers, and whether the episode ends."""

    text: str | None
    labels: tuple[str, ...]
    done: bool


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the episodes as dialogues, or one item per line with labels, which are its references."""
    for file in files(path, (".txt",), tally):
        for number, (place, episode) in enumerate(_read_episodes(file, tally), start=1):
            name = f"{file.stem}-{number}"
            for record in (_episode_items if options.form == "items" else _episode_dialogue)(name, episode, tally):
                yield ImportedRecord(record, place)


def _read_episodes(file: File, tally: ImportTally) -> Iterator[tuple[Place, list[_Exchange]]]:
    episode: list[_Exchange] = []
    start: Place | None = None
    for place, line in read_text_lines(file):
        line = line.rstrip("\r\n")
        if not line.strip():
            continue
        start = start or place
        episode.append(_parse_exchange(line, place, tally))
        if episode[-1].done:
            yield start, episode
            episode, start = [], None
    if start is not None:
        yield start, episode


def _parse_exchange(line: str, place: Place, tally: ImportTally) -> _Exchange:
    fields: dict[str, str] = {}
    for part in line.split("\t"):
        key, colon, value = part.partition(":")
        if not colon:
            raise InputError(
                f"{place}: {brief(part)} is not a field; ParlAI's lines are NAME:VALUE fields separated by tabs"
            )
        fields[key.strip()] = value
    if "text" not in fields and "labels" not in fields and "eval_labels" not in fields:
        known = ", ".join(sorted(fields))
        raise InputError(f"{place}: has neither 'text' nor 'labels' (found fields: {brief(known, 120)})")
    done = _DONE.get(fields.get("episode_done", "").strip().lower())
    if done is None:
        raise InputError(f"{place}: episode_done is {brief(fields['episode_done'])}; it must be True or False")
    text = _unescape(fields.get("text", ""))
    if text is None:
        tally.left_out["empty or silent turns"] += 1
    labels = [_unescape(label) for label in fields.get("labels", fields.get("eval_labels", "")).split("|")]
    return _Exchange(text, tuple(label for label in labels if label is not None), done)


def _unescape(value: str) -> str | None:
    text = value.replace("\\t", "\t").replace("\\n", "\n").replace("__PIPE__", "|").strip()
    return None if not text or text == _SILENCE else text


def _episode_turns(episode: list[_Exchange]) -> list[Turn]:
    """Return all turns; of several labels the first continues the dialogue, as in ParlAI."""
    turns: list[Turn] = []
    for exchange in episode:
        turns += [Turn(exchange.text, "A")] if exchange.text is not None else []
        turns += [Turn(exchange.labels[0], "B")] if exchange.labels else []
    return turns


def _episode_dialogue(name: str, episode: list[_Exchange], tally: ImportTally) -> Iterator[Dialogue]:
    turns = _episode_turns(episode)
    more = sum(max(len(exchange.labels) - 1, 0) for exchange in episode)
    if more:
        tally.left_out["further labels (--as items keeps them)"] += more
    if turns:
        yield Dialogue(name, tuple(turns))
    else:
        tally.left_out["episodes without a turn"] += 1


def _episode_items(name: str, episode: list[_Exchange], tally: ImportTally) -> Iterator[Item]:
    for number, exchange in enumerate(episode):
        before = _episode_turns(episode[:number])
        before += [Turn(exchange.text, "A")] if exchange.text is not None else []
        if not exchange.labels or not before:
            tally.left_out["lines without labels" if before else "labels that open an episode"] += 1
            continue
        yield Item(
            id=f"{name}/{len(before)}",
            context=tuple(before),
            references=tuple(Reference(label) for label in dict.fromkeys(exchange.labels)),
            future=tuple(_episode_turns(episode[number + 1 :])),
            dialogue=name,
        )
