"""The parts of an item by name: what a metric needs or reads besides the reply.

``context``, ``references``, ``future`` and ``situation`` are fields of the item. The others are known by convention:
the system prompt (``meta.system_prompt``, or turns by ``system`` that open the context), the documents that the reply
is based on (``meta.documents``), the calls of tools and their results (``meta.tool_calls``), and the turns before the
last one. What the meta of a response has goes before what the meta of its item has: each system may have its own
prompt, and may have retrieved its own documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rejoinder.errors import InputError, brief
from rejoinder.types import Pair, Turn

_SYSTEM = ("system", "developer")  # as roles are written: a bot may well be called System
_DOCUMENT_TEXTS = ("text", "content", "page_content")
# How a part is called in a sentence, where it is not by its own name.
PART_NAMES = {
    "system_prompt": "a system prompt (meta.system_prompt, or a first turn by 'system')",
    "documents": "documents (meta.documents)",
    "tool_calls": "tool calls (meta.tool_calls)",
    "earlier_turns": "a turn before the last one",
}


def read_part(pair: Pair, name: str) -> Any:
    """Return a part of a pair's item; empty or None where there is none."""
    return READERS[name](pair) if name in READERS else getattr(pair.item, name)


def split_system_turns(turns: Sequence[Turn]) -> tuple[Sequence[Turn], Sequence[Turn]]:
    """Return the turns by ``system`` that open a context, and the others."""
    n = next((n for n, turn in enumerate(turns) if turn.speaker not in _SYSTEM), len(turns))
    return turns[:n], turns[n:]


def read_meta_prompt(pair: Pair) -> str | None:
    """Return the system prompt that is stored beside the context, in meta."""
    prompt = _read_meta(pair, "system_prompt")
    if prompt is not None and not isinstance(prompt, str):
        raise InputError(f"{_place(pair, 'system_prompt')} is {brief(prompt)}; it must be a text")
    return prompt or None


def _read_system_prompt(pair: Pair) -> str | None:
    opening = "\n".join(turn.text for turn in split_system_turns(pair.item.context)[0])
    return read_meta_prompt(pair) or opening or None


def _read_documents(pair: Pair) -> list[dict[str, str]]:
    found = _read_meta(pair, "documents")
    listed = found if isinstance(found, list | tuple) else [] if found is None else [found]
    documents = [_parse_document(one) for one in listed]
    if None in documents:
        raise InputError(
            f"{_place(pair, 'documents')} is {brief(found)}; it must be a list of texts, or of objects with 'text' "
            "and, where there is one, 'title'"
        )
    return [one for one in documents if one is not None and one["text"].strip()]


def _parse_document(value: Any) -> dict[str, str] | None:
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, Mapping):
        return None
    text = next((value[key] for key in _DOCUMENT_TEXTS if isinstance(value.get(key), str)), None)
    title = value.get("title")
    if text is None:
        return None
    return {"title": title, "text": text} if isinstance(title, str) and title.strip() else {"text": text}


def _read_tool_calls(pair: Pair) -> list[Any]:
    """The calls before the reply, then those that the system made for it."""
    both = (record.meta.get("tool_calls") or [] for record in (pair.item, pair.response))
    return [call for calls in both for call in (calls if isinstance(calls, list | tuple) else [calls])]


def _read_earlier_turns(pair: Pair) -> Sequence[Turn]:
    return [turn for turn in split_system_turns(pair.item.context)[1] if turn.text.strip()][:-1]


def _read_meta(pair: Pair, key: str) -> Any:
    own = pair.response.meta.get(key)
    return pair.item.meta.get(key) if own is None else own


def _place(pair: Pair, key: str) -> str:
    record, kind = (pair.response, "response") if pair.response.meta.get(key) is not None else (pair.item, "item")
    return f"{kind} {record.id!r}: meta.{key}"


READERS: dict[str, Callable[[Pair], Any]] = {
    "system_prompt": _read_system_prompt,
    "documents": _read_documents,
    "tool_calls": _read_tool_calls,
    "earlier_turns": _read_earlier_turns,
}
