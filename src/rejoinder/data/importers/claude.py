"""The export of Claude's app: conversations.json, a list of conversations with ``chat_messages``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._chats import ChatConverter, Conversation, MessageList
from rejoinder.data.importers._files import files, read_json_values
from rejoinder.data.importers._messages import id_of, name_of
from rejoinder.data.importers._ratings import find_ratings
from rejoinder.data.importers._tree import Branch, find_branch
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "conversations.json of Claude's export (chat_messages)"
TAKES = _chats.TAKES

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_ATTACHMENTS = ("attachments", "files", "files_v2")


def recognise(sample: Sample) -> bool:
    """Whether a file is the export of Claude's app."""
    return "chat_messages" in sample.keys


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each answer on the current branch of a conversation, and other answers to the same message."""
    converter = ChatConverter(options, tally)
    for file in [options.file] if options.file else files(path, (".json", ".jsonl"), tally):
        for place, value in read_json_values(file):
            if path.is_dir() and not (isinstance(value, dict) and "chat_messages" in value):
                tally.left_out["entries of other files of the export"] += 1
                continue
            yield from converter.records(_parse_conversation(value, place, file))


def _parse_conversation(value: Any, place: Place, file: File) -> Conversation:
    if not isinstance(value, dict) or not isinstance(value.get("chat_messages"), list):
        keys = ", ".join(sorted(value)) if isinstance(value, dict) else brief(value)
        raise InputError(f"{place}: this is not Claude's export: it has no 'chat_messages' (found: {brief(keys, 120)})")
    said = MessageList(place)
    entries = [_check_message(entry, place, number) for number, entry in enumerate(value["chat_messages"], start=1)]
    nodes = {id_of(entry.get("uuid")) or f"#{number}": entry for number, entry in enumerate(entries)}
    branch = _find_branch(nodes, value.get("current_leaf_message_uuid"))
    others = 0
    for name in branch.path:
        same = [other for other in branch.siblings[name] if _is_reply(nodes[other]) and _is_reply(nodes[name])]
        others += len(same)
        turns = [_convert_message(nodes[one], said.left_out) for one in (name, *same)]
        if _is_reply(nodes[name]):
            said.read_replies(turns)
        else:
            said.read(turns)
    if branch.elsewhere > others:
        said.left_out["messages on other branches"] += branch.elsewhere - others
    return said.conversation(
        file,
        id_of(value.get("uuid")),
        model=name_of(value.get("model")) or "claude",
        ratings=find_ratings(value, said.left_out),
    )


def _check_message(entry: Any, place: Place, number: int) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise InputError(
            f"{place}, message {number}: expected an object with 'sender' and 'text', found {brief(entry)}"
        )
    if str(entry.get("sender")) not in _ROLES:
        raise InputError(
            f"{place}, message {number}: 'sender' is {brief(entry.get('sender'))}; it must be human or assistant"
        )
    return entry


def _is_reply(entry: dict[str, Any]) -> bool:
    return _ROLES[entry["sender"]] == "assistant"


def _find_branch(nodes: dict[str, dict[str, Any]], leaf: Any) -> Branch:
    """Return the current branch; an export without parents is one branch."""
    names = list(nodes)
    if any(id_of(node.get("parent_message_uuid")) in nodes for node in nodes.values()):
        return find_branch({name: id_of(node.get("parent_message_uuid")) for name, node in nodes.items()}, id_of(leaf))
    return find_branch(dict(zip(names, [None, *names], strict=False)), None)


def _convert_message(entry: dict[str, Any], left_out: Counter[str]) -> dict[str, Any]:
    """Return a message with role and content; the content's blocks go before the text that was made from them."""
    for key in _ATTACHMENTS:
        if isinstance(entry.get(key), list) and entry[key]:
            left_out["attached files"] += len(entry[key])
            break
    blocks = entry.get("content")
    has_text = isinstance(blocks, list) and any(
        isinstance(b, dict) and b.get("type") == "text" and isinstance(b.get("text"), str) and b["text"].strip()
        for b in blocks
    )
    content = blocks if has_text or not isinstance(entry.get("text"), str) else entry["text"]
    kept = {
        key: entry[key]
        for key in entry.keys() - {"content", "text", "sender", "type", "role", "from", "value", "parts"}
    }
    return {**kept, "role": _ROLES[entry["sender"]], "content": content}
