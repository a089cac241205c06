"""The export of ChatGPT: conversations.json, in which the messages of a conversation are a tree (``mapping``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._chats import ChatConverter, Conversation, MessageList
from rejoinder.data.importers._files import companion_file, files, read_json_values
from rejoinder.data.importers._messages import EMPTY_MESSAGES, OTHER_PARTS, TOOL_CALLS, TOOL_MESSAGES, id_of, name_of
from rejoinder.data.importers._ratings import find_ratings, is_rating_key
from rejoinder.data.importers._tree import find_branch
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "conversations.json of ChatGPT's export, a tree of messages: the file, or the folder of the export"
TAKES = _chats.TAKES | {"companion"}

_HIDDEN = "hidden messages"
_UNSPOKEN = "thoughts and context that ChatGPT did not say"
_SPOKEN = frozenset({"text", "multimodal_text"})
_MARKS = frozenset("title create_time update_time current_node conversation_id default_model_slug".split())
_FEEDBACK_FILE = "message_feedback"


def recognise(sample: Sample) -> bool:
    """Whether a file is the export of ChatGPT."""
    return "mapping" in sample.keys and bool(_MARKS & sample.keys)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each answer on the current branch of a conversation, and the regenerated answers to the same message."""
    converter = ChatConverter(options, tally)
    named = [options.file] if options.file else files(path, (".json",), tally)
    feedback = _Feedback()
    for file in companion_file(options):
        feedback.read(file)
    conversations = []
    for file in named:
        # In the folder of an export, other files are beside the conversations.
        if path.is_dir() and file.path.name.startswith(_FEEDBACK_FILE):
            feedback.read(file)
        elif path.is_dir() and not file.path.name.startswith("conversations"):
            tally.left_out["other files of the export"] += 1
        else:
            conversations.append(file)
    for file in conversations:
        for place, value in read_json_values(file):
            yield from converter.records(_parse_conversation(value, place, file, feedback))
    if feedback.by_message:
        tally.left_out["ratings of messages that are not in the file"] += len(feedback.by_message)


class _Feedback:
    """The ratings of message_feedback.json, by the id of the message; a rating that is used is removed."""

    def __init__(self) -> None:
        self.by_message: dict[str, dict[str, Any]] = {}

    def read(self, file: File) -> None:
        for place, value in read_json_values(file):
            name = id_of(value.get("message_id", value.get("id"))) if isinstance(value, dict) else None
            if name is None:
                raise InputError(f"{place}: expected a rating with the 'id' of a message, found {brief(value)}")
            self.by_message[name] = {"feedback": value.get("rating")}


def _parse_conversation(value: Any, place: Place, file: File, feedback: _Feedback) -> Conversation:
    if not isinstance(value, dict) or not isinstance(value.get("mapping"), dict):
        found = ", ".join(sorted(value)) if isinstance(value, dict) else brief(value)
        raise InputError(f"{place}: this is not ChatGPT's export: it has no 'mapping' (found: {brief(found, 120)})")
    nodes = {name: node if isinstance(node, dict) else {} for name, node in value["mapping"].items()}
    branch = find_branch(
        {name: id_of(node.get("parent")) for name, node in nodes.items()}, id_of(value.get("current_node"))
    )
    said = MessageList(place)
    regenerated = 0
    beside: list[str] = []
    for name in branch.path:
        # An answer may begin with nodes without words, such as thoughts: another answer branches off before them.
        beside += branch.siblings[name]
        message = _convert_message(nodes[name], said.left_out, feedback)
        if message is None:
            continue
        others, beside = beside, []
        if message["role"] != "assistant":
            said.read([message])
            continue
        replies = [reply for other in others if (reply := _follow(nodes, other, feedback)) is not None]
        regenerated += len(replies)
        said.read_replies([message, *replies])
    elsewhere = sum(
        isinstance(node.get("message"), dict) for name, node in nodes.items() if name not in set(branch.path)
    )
    if elsewhere > regenerated:
        said.left_out["messages on other branches"] += elsewhere - regenerated
    return said.conversation(
        file,
        id_of(value.get("conversation_id")) or id_of(value.get("id")),
        model=name_of(value.get("default_model_slug")) or "chatgpt",
        ratings=find_ratings(value, said.left_out),
    )


def _follow(nodes: Mapping[str, dict[str, Any]], name: str, feedback: _Feedback) -> dict[str, Any] | None:
    """Return a regenerated answer: the first message with words of an assistant, at a node or below it."""
    seen: set[str] = set()
    while name in nodes and name not in seen:
        seen.add(name)
        uncounted: Counter[str] = Counter()
        message = _convert_message(nodes[name], uncounted, feedback)
        if message is not None:
            return message if message["role"] == "assistant" else None
        children = nodes[name].get("children")
        name = str(children[-1]) if isinstance(children, list) and children else ""
    return None


def _convert_message(node: Mapping[str, Any], left_out: Counter[str], feedback: _Feedback) -> dict[str, Any] | None:
    """Return the message of a node with role and content; None, counted, for one that nobody said."""
    message = node.get("message")
    if not isinstance(message, dict):
        return None
    author, content, about = (_object(message.get(key)) for key in ("author", "content", "metadata"))
    role = author.get("role")
    kind = str(content.get("content_type", "text"))
    parts = content.get("parts")
    if about.get("is_visually_hidden_from_conversation") or (role == "system" and not _has_words(parts)):
        if _has_words(parts):
            left_out[_HIDDEN] += 1
        return None
    if role not in ("user", "assistant", "system"):
        left_out[TOOL_MESSAGES] += 1
        return None
    if role == "assistant" and message.get("recipient", "all") != "all":
        left_out[TOOL_CALLS] += 1
        return None
    if kind not in _SPOKEN:
        left_out[_UNSPOKEN] += 1
        return None
    if not _has_words(parts):
        has_others = any(isinstance(part, dict) for part in _list(parts))
        left_out[OTHER_PARTS if has_others else EMPTY_MESSAGES[role]] += 1
        return None
    ratings = feedback.by_message.pop(id_of(message.get("id")) or "", {})
    ratings |= {key: value for part in (about, message) for key, value in part.items() if is_rating_key(key)}
    return {**ratings, "role": role, "content": _list(parts), "model": about.get("model_slug")}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return [part for part in value if isinstance(part, str | dict)] if isinstance(value, list) else []


def _has_words(parts: Any) -> bool:
    texts = (part.get("text") if isinstance(part, dict) else part for part in _list(parts))
    return any(isinstance(text, str) and text.strip() for text in texts)
