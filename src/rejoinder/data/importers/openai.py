"""Chat logs in the formats of OpenAI's API (messages, calls, batches, fine-tuning files) and others like them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._batches import FAILED, convert_request, convert_result, custom_id, parse_replies
from rejoinder.data.importers._chats import ChatConverter, Conversation, MessageList
from rejoinder.data.importers._files import companion_file, files, read_json_values
from rejoinder.data.importers._messages import Message, count_unread, name_of
from rejoinder.data.importers._ratings import find_ratings
from rejoinder.data.importers._shapes import MESSAGE_LISTS, first_object, is_anthropic, is_chat
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "OpenAI's logs, batches and fine-tuning files; conversations of ShareGPT, WildChat, LMSYS and Gemini"
TAKES = _chats.TAKES | {"companion"}

_LOG_KEYS = frozenset(
    "id conversation_id conversation_hash model messages conversations conversation contents systemInstruction "
    "system_instruction instructions input output request response choices".split()
)
# Who says a string that stands where messages could stand.
_ROLE_OF_TEXT = {
    "instructions": "system",
    "input": "user",
    "prompt": "user",
    "output": "assistant",
}
_MESSAGES = frozenset(MESSAGE_LISTS)
# What an answer of the API holds besides its messages: how it was made.
_SETTINGS = frozenset(
    "object created created_at completed_at status background error incomplete_details max_output_tokens "
    "max_tool_calls parallel_tool_calls previous_response_id prompt_cache_key reasoning safety_identifier service_tier "
    "store temperature text tool_choice tools top_p top_logprobs truncation usage user metadata system_fingerprint "
    "billing".split()
)


def recognise(sample: Sample) -> bool:
    """Whether a file is a chat log, a batch or a fine-tuning file of OpenAI's, or ShareGPT's."""
    value = first_object(sample)
    if value is None or is_anthropic(value):
        return False
    keys = value.keys()
    if "custom_id" in keys:
        return bool({"body", "response", "error"} & keys)
    if value.get("object") in ("response", "chat.completion"):
        return True
    if keys & _MESSAGES:
        # The first reply of a table may be empty: a later one shows that it is one.
        rows = [row for row in sample.values if isinstance(row, dict) and row.keys() >= keys & _MESSAGES] or [value]
        return all(map(is_chat, rows))
    request, answer = value.get("request"), value.get("response")
    if isinstance(request, dict) and isinstance(answer, dict):
        return bool({"choices", "output"} & _body(answer).keys())
    return isinstance(value.get("output"), list) and "input" in keys and _has_messages(value["output"])


def _has_messages(entries: list[Any]) -> bool:
    return any(isinstance(entry, dict) and ("role" in entry or entry.get("type") == "message") for entry in entries)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each assistant message as a response to an item whose context is the messages before it."""
    converter = ChatConverter(options, tally)
    named = [options.file] if options.file else files(path, (".json", ".jsonl", ".ndjson"), tally)
    for file in [*companion_file(options), *named]:
        for place, value in read_json_values(file):
            if isinstance(value, dict) and "custom_id" in value:
                yield from _read_batch(value, place, converter, tally)
            else:
                log = _parse_log(value, place, file)
                known = _LOG_KEYS | _SETTINGS if {"choices", "output"} & value.keys() else _LOG_KEYS
                known = known if {*MESSAGE_LISTS, "input"} & value.keys() else known | {"prompt"}
                count_unread(value, known, _find_messages(value), tally.left_out)
                yield from converter.records(log)


def _parse_log(value: Any, place: Place, file: File) -> Conversation:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected an object with 'messages', found {brief(value)}")
    said = MessageList(place)
    call = _find_call(value)
    if call is None:
        said.read(_list_messages(value, place))
        answer: Mapping[str, Any] = {}
    else:
        request, answer = call
        said.read(_list_messages(request, place, ("instructions", "input")), is_context=True)
        if isinstance(answer.get("choices"), list):
            said.read_replies(_messages_of_choices(answer["choices"], place))
        else:
            said.read(_listed(answer.get("output"), "output", place))
    log_id = next(
        (value[key] for key in ("id", "conversation_id", "conversation_hash") if value.get(key) is not None),
        answer.get("id"),
    )
    return said.conversation(
        file,
        _check_id(log_id, place),
        is_exchange=call is not None,
        model=name_of(value.get("model")) or name_of(answer.get("model")) or _requested_model(value),
        ratings=find_ratings(value, said.left_out),
    )


def _requested_model(value: Mapping[str, Any]) -> str | None:
    request = value.get("request")
    return name_of(_body(request).get("model")) if isinstance(request, dict) else None


def _check_id(log_id: Any, place: Place) -> str | None:
    if log_id is None:
        return None
    if type(log_id) not in (str, int):
        raise InputError(f"{place}: 'id' is {brief(log_id)}; it must be a string")
    if isinstance(log_id, str) and not log_id.strip():
        raise InputError(f"{place}: 'id' is empty; give it a name or leave it out")
    return str(log_id)


def _body(value: dict[str, Any]) -> dict[str, Any]:
    body = value.get("body")
    return body if isinstance(body, dict) else value


def _find_call(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the request and the answer of a log of one call; None for a log of a conversation."""
    request = value.get("request")
    request = _body(request) if isinstance(request, dict) else value
    answer = value.get("response")
    if isinstance(answer, str) and "messages" in request:
        return request, {"choices": [{"message": {"role": "assistant", "content": answer}}]}
    if isinstance(answer, dict):
        return request, _body(answer)
    if "choices" in value or ("output" in value and not _MESSAGES & value.keys()):
        return request, value
    return None


def _messages_of_choices(choices: list[Any], place: Place) -> list[Any]:
    messages = []
    for choice in choices:
        if not isinstance(choice, dict):
            raise InputError(f"{place}: a choice is {brief(choice)}; it must be an object with 'message'")
        message = choice.get("message")
        if message is None:
            message = {"content": choice.get("text")}
        messages.append({"role": "assistant", **message} if isinstance(message, dict) else message)
    return messages


def _find_messages(value: Any) -> list[Any]:
    """Return the messages of a log whose keys are looked at."""
    return [m for key in (*MESSAGE_LISTS, "input", "output") for m in _if_list(value.get(key))]


def _if_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _listed(part: Any, key: str, place: Place) -> list[Any]:
    """Return the messages under a key; a string is one message."""
    if isinstance(part, str) and key in _ROLE_OF_TEXT:
        return [{"role": _ROLE_OF_TEXT[key], "content": part}]
    if part is not None and not isinstance(part, list):
        raise InputError(f"{place}: {key!r} is {brief(part)}; it must be a list of messages")
    return part or []


def _list_messages(
    value: dict[str, Any], place: Place, otherwise: tuple[str, ...] = ("instructions", "input", "output")
) -> list[Any]:
    """Return the messages of a log, in any of the three formats."""
    for keys in (*((key,) for key in MESSAGE_LISTS), otherwise, ("prompt",)):
        if keys[-1] in value and (keys != ("prompt",) or isinstance(value["prompt"], str)):
            messages = [message for key in keys for message in _listed(value.get(key), key, place)]
            return [*_list_instructions(value), *messages] if keys == ("contents",) else messages
    if "output" in value or "choices" in value:
        return []
    keys_found = ", ".join(sorted(value)) or "none"
    raise InputError(f"{place}: this is not a chat log: it has no 'messages' (found keys: {brief(keys_found, 120)})")


def _list_instructions(value: dict[str, Any]) -> list[Any]:
    """Return the system prompt of Gemini's API, which stands beside the contents."""
    prompt = value.get("systemInstruction", value.get("system_instruction"))
    if isinstance(prompt, dict):
        return [{**prompt, "role": "system"}]
    return [{"role": "system", "content": prompt}] if isinstance(prompt, str) else []


def _read_batch(
    value: dict[str, Any], place: Place, converter: ChatConverter, tally: ImportTally
) -> Iterator[ImportedRecord]:
    """Yield the item of a line of a batch's input file, or the responses of a line of its output file."""
    name = custom_id(value, place)
    body = value.get("body")
    if isinstance(body, dict):
        messages = _list_messages(body, place, ("instructions", "input"))
        yield from convert_request(name, messages, place, converter.stripper)
        return
    answer = value.get("response")
    answer = _body(answer) if isinstance(answer, dict) else {}
    if isinstance(answer.get("choices"), list):
        replies = parse_replies(_messages_of_choices(answer["choices"], place), place, tally)
    elif "output" in answer:
        replies = _join(parse_replies(_listed(answer["output"], "output", place), place, tally))
    else:
        tally.left_out[FAILED] += 1
        return
    yield from convert_result(name, replies, name_of(answer.get("model")), place, converter, tally)


def _join(messages: list[Message]) -> list[Message]:
    """Return the messages of one answer as one reply."""
    return [messages[0]._replace(text="\n".join(m.text for m in messages))] if messages else []
