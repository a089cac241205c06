"""Logs of Anthropic's Messages API: system, messages, the answer in content blocks; batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._batches import FAILED, convert_request, convert_result, custom_id, parse_replies
from rejoinder.data.importers._chats import ChatConverter, Conversation, MessageList
from rejoinder.data.importers._files import companion_file, files, read_json_values
from rejoinder.data.importers._messages import count_unread, id_of, name_of
from rejoinder.data.importers._ratings import find_ratings
from rejoinder.data.importers._shapes import first_object, is_anthropic
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "logs of Anthropic's Messages API with content blocks, and its batches"
TAKES = _chats.TAKES | {"companion"}

_REQUESTS = ("request", "params", "body")
_ANSWERS = ("response", "message", "result", "output", "completion")
# How a reply was made.
_SETTINGS = frozenset(
    "max_tokens temperature top_p top_k stop_sequences stream tools tool_choice thinking anthropic_version metadata "
    "stop_reason stop_sequence usage service_tier type role container context_management".split()
)
_LOG_KEYS = frozenset({"id", "conversation_id", "model", "system", "messages", "content", *_REQUESTS, *_ANSWERS})


def recognise(sample: Sample) -> bool:
    """Whether a file is a log or a batch of Anthropic's API."""
    value = first_object(sample)
    return value is not None and is_anthropic(value)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each answer as a response to an item whose context is the messages of its request."""
    converter = ChatConverter(options, tally)
    named = [options.file] if options.file else files(path, (".json", ".jsonl", ".ndjson"), tally)
    for file in [*companion_file(options), *named]:
        for place, value in read_json_values(file):
            if not isinstance(value, dict):
                raise InputError(f"{place}: expected an object with 'messages', found {brief(value)}")
            requests = value.get("requests")
            for entry in requests if isinstance(requests, list) else [value]:
                if isinstance(entry, dict) and "custom_id" in entry:
                    yield from _read_batch(entry, place, converter, tally)
                else:
                    yield from converter.records(_parse_log(entry, place, file, tally))


def _parse_log(value: Any, place: Place, file: File, tally: ImportTally) -> Conversation:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an object with 'messages', found {brief(value)}")
    request = next((part for key in _REQUESTS if isinstance(part := value.get(key), dict)), value)
    answer = _find_answer(value)
    if answer is None and "messages" not in request:
        keys = ", ".join(sorted(value)) or "none"
        raise InputError(
            f"{place}: this is not a log of the Messages API: it has no 'messages' (found keys: {brief(keys, 120)})"
        )
    said = MessageList(place)
    said.read(_list_messages(request, place), is_context=answer is not None)
    if answer is not None:
        said.read_replies([answer])
    count_unread(value, _LOG_KEYS | _SETTINGS, request.get("messages") or [], tally.left_out)
    ids = (value.get("id"), value.get("conversation_id"), (answer or {}).get("id"))
    return said.conversation(
        file,
        next((name for one in ids if (name := id_of(one)) is not None), None),
        is_exchange=answer is not None,
        model=name_of((answer or {}).get("model")) or name_of(value.get("model")) or name_of(request.get("model")),
        ratings=find_ratings(value, said.left_out),
    )


def _find_answer(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the answer of a log of one call as a message; None for a log of a conversation."""
    if "content" in value and "messages" not in value and not any(key in value for key in _REQUESTS):
        return {"role": "assistant", **value}
    for key in _ANSWERS:
        answer = value.get(key)
        if isinstance(answer, dict) and isinstance(answer.get("body"), dict):
            answer = answer["body"]
        if isinstance(answer, dict) and "content" in answer:
            return {"role": "assistant", **answer, "type": "message"}
        if isinstance(answer, str | list) and answer:
            return {"role": "assistant", "content": answer}
    return None


def _list_messages(request: dict[str, Any], place: Place) -> list[Any]:
    """Return the system prompt and the messages of a request."""
    messages = request.get("messages")
    if messages is not None and not isinstance(messages, list):
        raise InputError(f"{place}: 'messages' is {brief(messages)}; it must be a list of messages")
    system = request.get("system")
    prompt = [{"role": "system", "content": system}] if isinstance(system, str | list) and system else []
    return [*prompt, *(messages or [])]


def _read_batch(
    value: dict[str, Any], place: Place, converter: ChatConverter, tally: ImportTally
) -> Iterator[ImportedRecord]:
    """Yield the item of a request of a batch, or the response of a result."""
    name = custom_id(value, place)
    params, result = value.get("params"), value.get("result")
    if isinstance(params, dict):
        yield from convert_request(name, _list_messages(params, place), place, converter.stripper)
    if not isinstance(result, dict):
        if not isinstance(params, dict):
            raise InputError(f"{place}: has neither 'params' nor 'result'; is it a batch of Anthropic's?")
        return
    message = result.get("message")
    if result.get("type") != "succeeded" or not isinstance(message, dict):
        tally.left_out[FAILED] += 1
        return
    replies = parse_replies([{**message, "role": "assistant", "type": "message"}], place, tally)
    yield from convert_result(name, replies, name_of(message.get("model")), place, converter, tally)
