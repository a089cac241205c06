"""A ConvoKit corpus folder (Chang et al. 2020): utterances that reply to each other, by lasting speakers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejoinder.data.importers._contract import File, Found, Options, Tally
from rejoinder.data.importers._dialogues import ONE_TURN
from rejoinder.data.importers._files import json_values
from rejoinder.data.importers._threads import Thread, Utterance, threads
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.paths import printable
from rejoinder.types import Dialogue, Item, Record, Reference, Turn

SUMMARY = "a ConvoKit corpus folder (utterances.jsonl and its neighbours)"
TAKES = frozenset({"form", "max_turns"})
# New and old names of the keys of an utterance.
_CONVERSATION = ("conversation_id", "root")
_SPEAKER = ("speaker", "user")
_REPLY_TO = ("reply-to", "reply_to")


def read(path: Path, options: Options, tally: Tally) -> Iterator[Found]:
    """Every thread as a dialogue, or every utterance that has replies as an item with these as references."""
    file = _utterance_file(path)
    corpus = _corpus_name(path)
    conversations: dict[str, list[Utterance]] = {}
    seen: dict[str, Place] = {}
    for place, value in json_values(file):
        utterance, conversation = _utterance(value, place)
        if utterance.id in seen:
            raise InputError(f"{place}: utterance {brief(utterance.id)} was already in {seen[utterance.id]}")
        seen[utterance.id] = place
        conversations.setdefault(conversation, []).append(utterance)
    for name, utterances in conversations.items():
        for thread in threads(name, utterances, tally):
            place = seen[next(iter(thread.nodes))]
            for record in _records(thread, corpus, options, tally):
                yield Found(record, place)


def _utterance_file(path: Path) -> File:
    for name in ("utterances.jsonl", "utterances.json"):
        if (path / name).is_file():
            return File(path / name, printable(path / name), path.name)
    raise InputError(f"{path}: is no ConvoKit corpus: it has no utterances.jsonl (or utterances.json); name its folder")


def _corpus_name(path: Path) -> str:
    about = path / "corpus.json"
    for _, value in json_values(File(about, printable(about), path.name)) if about.is_file() else ():
        name = value.get("name") if isinstance(value, dict) else None
        if isinstance(name, str) and name.strip():
            return name
    return path.resolve().name


def _utterance(value: Any, place: Place) -> tuple[Utterance, str]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an utterance as a JSON object, found {brief(value)}")
    name = _name(value, ("id",), place)
    if name is None:
        raise InputError(f"{place}: the utterance has no 'id' (found keys: {brief(', '.join(value) or 'none', 120)})")
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        raise InputError(f"{place}: 'text' is {brief(text)}; it must be a string")
    turn = Turn(text, _name(value, _SPEAKER, place)) if text and not text.isspace() else None
    conversation = _name(value, _CONVERSATION, place)
    if conversation is None:
        raise InputError(f"{place}: the utterance has no 'conversation_id' (or, in older corpora, 'root')")
    return Utterance(name, turn, _name(value, _REPLY_TO, place)), conversation


def _name(value: dict[str, Any], keys: tuple[str, ...], place: Place) -> str | None:
    for key in keys:
        found = value.get(key)
        if isinstance(found, dict):
            found = found.get("id")
        if found is None or found == "":
            continue
        if type(found) not in (str, int) or str(found).isspace():
            raise InputError(f"{place}: {key!r} is {brief(found)}; it must be a name")
        return str(found)
    return None


def _records(thread: Thread, corpus: str, options: Options, tally: Tally) -> Iterator[Record]:
    if options.form != "items":
        for name, turns in thread.paths():
            yield Dialogue(name, turns, corpus)
        return
    if len(thread.nodes) == 1:
        tally.left_out[ONE_TURN] += 1
    for node in thread.nodes.values():
        replies = thread.replies[node.id]
        if replies:
            texts = dict.fromkeys(reply.turn.text for reply in replies)
            yield Item(
                id=f"{thread.conversation}/{node.id}",
                context=thread.before(node),
                references=tuple(Reference(text) for text in texts),
                future=thread.after(replies[0]) if len(replies) == 1 else (),
                dialogue=thread.conversation,
            )
