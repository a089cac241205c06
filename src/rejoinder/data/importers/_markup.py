"""Markup in texts: tags of chat templates, reasoning in ``<think>`` tags, and transcripts with names before each turn.

A text that only talks about markup is left as it is: tags in code do not count, a tag of a template counts at the
beginning of a line, and a transcript begins with a role, has two of them and lets them take turns.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "tool": "tool",
    "ipython": "tool",
    "function": "tool",
}
_NAMES = "system|developer|user|human|assistant|model|tool|ipython|function"
_HEADER = re.compile(
    rf"<\|im_start\|>[ \t]*(?P<chatml>{_NAMES})\b[ \t]*\n?"  # ChatML
    rf"|<\|start_header_id\|>\s*(?P<llama3>{_NAMES})\s*<\|end_header_id\|>\s*"
    rf"|<\|header_start\|>\s*(?P<llama4>{_NAMES})\s*<\|header_end\|>\s*"
    r"|<start_of_turn>[ \t]*(?P<gemma>user|model|system)\b[ \t]*\n?"
    r"|<\|(?P<phi>system|user|assistant)\|>[ \t]*\n?"
    r"|(?P<asked>\[INST\])[ \t]*|(?P<answered>\[/INST\])[ \t]*"  # Llama 2
)
_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<end_of_turn>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
)
_END = re.compile("|".join(map(re.escape, _ENDS)))
_STARTS = ("<s>", "<bos>", "<|begin_of_text|>")
_START = re.compile(r"\A\s*(?:(?:<s>|<bos>|<\|begin_of_text\|>)\s*)+")
_LLAMA_SYSTEM = re.compile(r"\A\s*<<SYS>>(.*?)<</SYS>>\s*", re.DOTALL)
_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_FIRST_THOUGHT = re.compile(r"\s*<(think|thinking)>")
_SPACE = re.compile(r"\s*")
_LATER_THOUGHT = re.compile(r"^[ \t]*<(think|thinking)>", re.MULTILINE)
_END_OF_THINKING = re.compile(r"</(think|thinking)>[ \t]*(?:\n\s*|\Z)")
_LABEL = re.compile(
    r"^[ \t]*(?:\*\*)?(System|Human|User|Assistant|AI Assistant|AI|Bot|Chatbot|Model)(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


class Part(NamedTuple):
    """A part of a text: what one role says (system, user, assistant or tool; None if no tag says who)."""

    role: str | None
    text: str


def split_template(text: str) -> list[Part] | None:
    """Return the turns of a text in a chat template; None if it is not in one."""
    if "<" not in text and "[INST]" not in text:
        return None
    start = _START.match(text)
    body = text[start.end() :] if start else text
    headers = list(_HEADER.finditer(body))
    if not headers:
        return None
    if body[: headers[0].start()].strip():  # tags later in a text count where they begin a turn, outside of code
        masked = _mask_code(body)
        headers = [one for one in _HEADER.finditer(masked) if _begins_turn(masked, one)]
        if len(headers) + len(_END.findall(masked)) < 2:
            return None
    elif headers[0]["asked"] and not any(one["answered"] for one in headers):
        return None
    if not headers:
        return None
    parts = [Part(None, body[: headers[0].start()])]
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        parts.append(Part(_role_of(header), body[header.end() : following.start() if following else len(body)]))
    return [part for part in _clean(parts) if part.text]


def _begins_turn(text: str, header: re.Match[str]) -> bool:
    """Whether a tag stands at the beginning of a line, or after the end of another turn."""
    if header["answered"]:
        return True
    end = header.start()
    while end and text[end - 1] in " \t":
        end -= 1
    return end == 0 or text.endswith(("\n", *_ENDS), 0, end)


def _role_of(header: re.Match[str]) -> str:
    if header["asked"] or header["answered"]:
        return "user" if header["asked"] else "assistant"
    return _ROLES[next(name for name in header.groups() if name)]


def _clean(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts without the tags that end them; the system prompt of Llama 2 is a part of its own."""
    for role, text in parts:
        text = _cut_ends(text, _ENDS)
        prompt = _LLAMA_SYSTEM.match(text) if role == "user" else None
        if prompt:
            yield Part("system", prompt[1].strip())
            text = text[prompt.end() :]
        text = _START.sub("", text) if role is None else text
        yield Part(role, _cut_ends(text, (*_STARTS, *_ENDS)).strip())


def _cut_ends(text: str, tags: tuple[str, ...]) -> str:
    """Return a text without some tags at its end."""
    rest = text.rstrip()
    while rest.endswith(tags):
        rest = next(rest[: -len(tag)] for tag in tags if rest.endswith(tag)).rstrip()
    return rest if len(rest) < len(text.rstrip()) else text


def _mask_code(text: str) -> str:
    """Return a text of the same length without the characters of code."""
    return _CODE.sub(lambda match: "\0" * len(match[0]), text)


def strip_ends(text: str) -> str:
    """Return a text without the tags at its ends that a model writes when it stops."""
    if "<" not in text:
        return text
    start = _START.match(text)
    # <s>...</s> crosses out words in HTML.
    rest = _cut_ends(text, _ENDS if "<s>" not in text else _ENDS[:-1])
    rest = rest[start.end() :] if start and "</s>" not in rest else rest
    return rest if rest == text else rest.strip()


def strip_reasoning(text: str) -> str:
    """Return a text without what a model thought; of a thought without an end, nothing is left."""
    if "think" not in text:
        return text
    rest = text
    while first := _FIRST_THOUGHT.match(rest):
        rest = rest[first.end() :].partition(f"</{first[1]}>")[2]
    masked = _mask_code(rest)
    later = _find_thoughts(masked)
    if later:
        bounds = [0, *(place for span in later for place in span), len(rest)]
        rest = "".join(rest[start:end] for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    elif rest == text and "<think" not in masked and (end_of_thought := _END_OF_THINKING.search(masked)):
        rest = rest[end_of_thought.end() :]  # some templates open the thought, so that a reply begins inside it
    return rest if rest == text else rest.strip()


def _find_thoughts(text: str) -> list[tuple[int, int]]:
    """Return where thoughts begin and end that are not at the beginning of a text; one pass, however many there are."""
    spans: list[tuple[int, int]] = []
    missing: set[str] = set()
    for opened in _LATER_THOUGHT.finditer(text):
        end_tag = f"</{opened[1]}>"
        if end_tag in missing or (spans and opened.start() < spans[-1][1]):
            continue
        end = text.find(end_tag, opened.end())
        if end < 0:
            missing.add(end_tag)
            continue
        space = _SPACE.match(text, end + len(end_tag))
        spans.append((opened.start(), space.end() if space else end + len(end_tag)))
    return spans


def split_transcript(text: str) -> list[Part] | None:
    """Return the turns of a text with a role before each; None if it is not such a transcript.

    A text before the first role is the system prompt, if the transcript ends where the assistant is to go on.
    """
    if ":" not in text:
        return None
    labels = list(_LABEL.finditer(text))
    # Only the first turn may be the system's: later, it is a word such as "System: Linux".
    labels = [one for n, one in enumerate(labels) if n == 0 or _role_of_label(one) != "system"]
    if len(labels) < 2:
        return None
    roles = [_role_of_label(one) for one in labels]
    spoken = roles[1:] if roles[0] == "system" else roles
    if "user" not in spoken or any(role == later for role, later in itertools.pairwise(spoken)):
        return None
    ends = [*(one.start() for one in labels[1:]), len(text)]
    parts = [Part(role, text[label.end() : end].strip()) for role, label, end in zip(roles, labels, ends, strict=True)]
    before = text[: labels[0].start()].strip()
    is_open = roles[-1] == "assistant" and not parts[-1].text
    if len(spoken) < 2 or (before and (not is_open or roles[0] == "system")):
        return None
    parts = parts[:-1] if is_open else parts
    if not all(part.text for part in parts):
        return None
    return [Part("system", before), *parts] if before else parts


def is_open_transcript(text: str) -> bool:
    """Whether a text ends with the assistant's name, so that the reply goes on from there."""
    last = list(_LABEL.finditer(text))[-1:]
    return bool(last) and _role_of_label(last[0]) == "assistant" and not text[last[0].end() :].strip()


def split_label(text: str) -> Part | None:
    """Return the only turn of a text with a role before it; None if there is no role, or another one follows."""
    label = _LABEL.match(text.lstrip())
    rest = text.lstrip()[label.end() :].strip() if label else ""
    return Part(_role_of_label(label), rest) if label and rest and not _LABEL.search(rest) else None


def _role_of_label(label: re.Match[str]) -> str:
    return _ROLES[label[1].lower().split()[0]]
