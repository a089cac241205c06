"""A ConvoKit corpus folder (Chang et al. 2020): utterances that reply to each other, by persistent speakers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.importer import ONE_TURN, File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._files import read_json_values
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.paths import printable
from rejoinder.types import Dialogue, Item, Record, Reference, Turn


class Utterance(NamedTuple):
    """An utterance as stored; its turn is None if it has no text."""

    id: str
    turn: Turn | None
    reply_to: str | None


class Node(NamedTuple):
    """An utterance with text, and the one with text that it replies to."""

    id: str
    turn: Turn
    parent: str | None


@dataclasses.dataclass(frozen=True)
class Thread:
    """One tree of replies; each node comes after the one it replies to."""

    conversation: str
    # Whether this is the conversation's only thread.
    alone: bool
    nodes: dict[str, Node]
    replies: dict[str, list[Node]]

    def before(self, node: Node) -> tuple[Turn, ...]:
        """Return the turns from the first one to this one."""
        path = [node]
        while (parent := path[-1].parent) is not None:
            path.append(self.nodes[parent])
        return tuple(n.turn for n in reversed(path))

    def after(self, node: Node) -> tuple[Turn, ...]:
        """Return the turns that follow, up to the point where there is no reply or more than one."""
        turns: list[Turn] = []
        while len(self.replies[node.id]) == 1:
            node = self.replies[node.id][0]
            turns.append(node.turn)
        return tuple(turns)

    def paths(self) -> Iterator[tuple[str, tuple[Turn, ...]]]:
        """Yield each path from the first turn to a last one, with a name."""
        leaves = [node for node in self.nodes.values() if not self.replies[node.id]]
        for leaf in leaves:
            name = self.conversation if self.alone and len(leaves) == 1 else f"{self.conversation}/{leaf.id}"
            yield name, self.before(leaf)


def build_threads(conversation: str, utterances: Sequence[Utterance], tally: ImportTally) -> Iterator[Thread]:
    """Yield the threads of a conversation; if nothing replies to anything, the order of the file makes one thread."""
    nodes = _make_nodes(utterances, tally)
    if not nodes:
        tally.left_out["conversations without a turn"] += 1
        return
    if len(nodes) > 1 and all(u.reply_to is None for u in utterances):
        nodes = [Node(n.id, n.turn, nodes[i - 1].id if i else None) for i, n in enumerate(nodes)]
    replies: dict[str, list[Node]] = {node.id: [] for node in nodes}
    for node in nodes:
        if node.parent is not None:
            replies[node.parent].append(node)
    roots = [node for node in nodes if node.parent is None]
    n_reached = 0
    for root in roots:
        members = [root]
        for node in members:  # grows during the loop
            members.extend(replies[node.id])
        n_reached += len(members)
        own = {node.id: node for node in members}
        yield Thread(conversation, len(roots) == 1, own, {name: replies[name] for name in own})
    if n_reached < len(nodes):
        tally.left_out["utterances that reply to each other in a circle"] += len(nodes) - n_reached


def _make_nodes(utterances: Sequence[Utterance], tally: ImportTally) -> list[Node]:
    by_id = {u.id: u for u in utterances}
    nodes: list[Node] = []
    for utterance in utterances:
        if utterance.turn is None:
            tally.left_out["utterances without text"] += 1
            continue
        parent, visited = utterance.reply_to, {utterance.id}
        # A reply to an utterance without text counts as a reply to what that utterance answered.
        while parent in by_id and by_id[parent].turn is None and parent not in visited:
            visited.add(parent)
            parent = by_id[parent].reply_to
        if parent is not None and parent not in by_id:
            tally.left_out["links to utterances that are not there"] += 1
            parent = None
        if parent is not None and by_id[parent].turn is None:
            parent = None
        nodes.append(Node(utterance.id, utterance.turn, parent))
    return nodes


SUMMARY = "a ConvoKit corpus folder (utterances.jsonl and its neighbours)"
TAKES = frozenset({"form", "max_turns"})
# New and old names of the keys of an utterance.
_CONVERSATION = ("conversation_id", "root")
_SPEAKER = ("speaker", "user")
_REPLY_TO = ("reply-to", "reply_to")


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each path as a dialogue, or each utterance that has replies as an item with these as references."""
    file = _find_utterance_file(path)
    corpus = _corpus_name(path)
    conversations: dict[str, list[Utterance]] = {}
    seen: dict[str, Place] = {}
    for place, value in read_json_values(file):
        utterance, conversation = _parse_utterance(value, place)
        if utterance.id in seen:
            raise InputError(f"{place}: utterance {brief(utterance.id)} was already in {seen[utterance.id]}")
        seen[utterance.id] = place
        conversations.setdefault(conversation, []).append(utterance)
    for name, utterances in conversations.items():
        for thread in build_threads(name, utterances, tally):
            place = seen[next(iter(thread.nodes))]
            for record in _convert_thread(thread, corpus, options, tally):
                yield ImportedRecord(record, place)


def _find_utterance_file(path: Path) -> File:
    for name in ("utterances.jsonl", "utterances.json"):
        if (path / name).is_file():
            return File(path / name, printable(path / name), path.name)
    raise InputError(
        f"{path}: is not a ConvoKit corpus: it has no utterances.jsonl (or utterances.json); name its folder"
    )


def _corpus_name(path: Path) -> str:
    info = path / "corpus.json"
    for _, value in read_json_values(File(info, printable(info), path.name)) if info.is_file() else ():
        name = value.get("name") if isinstance(value, dict) else None
        if isinstance(name, str) and name.strip():
            return name
    return path.resolve().name


def _parse_utterance(value: Any, place: Place) -> tuple[Utterance, str]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an utterance as a JSON object, found {brief(value)}")
    name = _first_name(value, ("id",), place)
    if name is None:
        raise InputError(f"{place}: the utterance has no 'id' (found keys: {brief(', '.join(value) or 'none', 120)})")
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        raise InputError(f"{place}: 'text' is {brief(text)}; it must be a string")
    turn = Turn(text, _first_name(value, _SPEAKER, place)) if text and not text.isspace() else None
    conversation = _first_name(value, _CONVERSATION, place)
    if conversation is None:
        raise InputError(f"{place}: the utterance has no 'conversation_id' (or, in older corpora, 'root')")
    return Utterance(name, turn, _first_name(value, _REPLY_TO, place)), conversation


def _first_name(value: dict[str, Any], keys: tuple[str, ...], place: Place) -> str | None:
    for key in keys:
        name = value.get(key)
        if isinstance(name, dict):
            name = name.get("id")
        if name is None or name == "":
            continue
        if type(name) not in (str, int) or str(name).isspace():
            raise InputError(f"{place}: {key!r} is {brief(name)}; it must be a name")
        return str(name)
    return None


def _convert_thread(thread: Thread, corpus: str, options: ImportOptions, tally: ImportTally) -> Iterator[Record]:
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
