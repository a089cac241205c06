"""How turns become token ids, by the convention that a language model was trained with.

- ``eos``: each turn is followed by the end-of-text token, as in DialoGPT (Zhang et al. 2020, section 3.1).
- ``newline``: each turn is a line of a script, for models trained on plain text only.
- ``chat``: the chat template that comes with an instruction-tuned model.

The context and the reply are tokenised separately and their ids are joined, so it is always clear which tokens belong
to the reply. Special tokens such as ``<|endoftext|>`` inside a turn are read as plain text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError
from rejoinder.types import Turn

Join: TypeAlias = Literal["eos", "newline", "chat"]
JOINS: tuple[Join, ...] = ("eos", "newline", "chat")
Ids: TypeAlias = tuple[int, ...]
_ROLES = {"system", "user", "assistant"}
# For templates that print the date: a score must not change overnight.
_DATE = "{% macro strftime_now(form) %}01 Jan 2024{% endmacro %}"


class ContextIds(NamedTuple):
    """The token ids of a context: the token that begins a text, if the model has one, and the turns."""

    start: Ids
    body: Ids

    def fit(self, room: int) -> Ids:
        """Return the ids that fit into ``room``: the turns lose their beginning."""
        available = max(0, room - len(self.start))
        return self.start[:room] + (self.body[-available:] if available else ())

    def __len__(self) -> int:
        return len(self.start) + len(self.body)


def default_join(tokenizer: Any) -> Join:
    """Return the convention that suits a tokeniser."""
    if tokenizer.chat_template:
        return "chat"
    return "newline" if tokenizer.eos_token_id is None else "eos"


def check_join(tokenizer: Any, join: str, name: str) -> Join:
    """Return the convention; raise if the tokeniser cannot follow it."""
    for known in JOINS:
        if join == known:
            break
    else:
        raise InputError(f"join must be one of {', '.join(JOINS)}, not {join!r}")
    if known == "eos" and tokenizer.eos_token_id is None:
        raise InputError(f"{name} has no end-of-text token; use join='newline'")
    if known == "chat" and not tokenizer.chat_template:
        raise InputError(f"{name} has no chat template; use join='eos' or join='newline'")
    return known


def encode_text(tokenizer: Any, text: str) -> Ids:
    """Return the ids of a plain text: nothing is added, and no part of it is read as a special token."""
    encoding = tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
    return tuple(encoding["input_ids"])


def clean_turn_text(text: str, join: Join) -> str:
    """Return a turn's text in a form that the convention allows: a line of a script has no line breaks.

    Lone surrogates, which tokenisers reject, become question marks.
    """
    readable = text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
    return " ".join(readable.split()) if join == "newline" else readable.strip()


def turn_end_ids(tokenizer: Any, join: Join) -> Ids:
    """Return the ids that end a turn."""
    return encode_text(tokenizer, "\n") if join == "newline" else (tokenizer.eos_token_id,)


def context_ids(tokenizer: Any, context: Sequence[Turn], join: Join) -> ContextIds:
    """Return the ids of a context, ready for a reply; never empty, because the first token needs a predecessor."""
    if join == "chat":
        ids = _chat_ids(tokenizer, context)
        begins = bool(ids) and ids[0] == tokenizer.bos_token_id
        return ContextIds(ids[:1], ids[1:]) if begins else ContextIds((), ids)
    end = turn_end_ids(tokenizer, join)
    body = tuple(
        token for turn in context for token in (*encode_text(tokenizer, clean_turn_text(turn.text, join)), *end)
    )
    start = tuple(token for token in tokenizer("")["input_ids"] if token == tokenizer.bos_token_id)[:1]
    if not start and not body:
        return ContextIds((_first_id(tokenizer, end),), ())
    return ContextIds(start, body)


def _first_id(tokenizer: Any, end: Ids) -> int:
    """Return the id that begins a text without a context: the first token, or else the one that ends a turn."""
    return end[-1] if tokenizer.bos_token_id is None else int(tokenizer.bos_token_id)


def _chat_ids(tokenizer: Any, context: Sequence[Turn]) -> Ids:
    from jinja2 import TemplateError

    marks = [mark for mark in tokenizer.all_special_tokens if mark.strip()]
    messages = [
        {"role": role, "content": _break_marks(clean_turn_text(turn.text, "chat"), marks)}
        for role, turn in zip(_chat_roles(context), context, strict=True)
    ]
    if not messages:
        messages = [{"role": "user", "content": ""}]  # templates need something to reply to
    try:
        text = tokenizer.apply_chat_template(
            messages, chat_template=_chat_template(tokenizer), tokenize=False, add_generation_prompt=True
        )
    except (TemplateError, IndexError) as error:
        turns = "turn" if len(messages) == 1 else "turns"
        raise InputError(
            f"the model's chat template cannot format a context of {len(messages)} {turns} ({error}); "
            "use join='eos' or join='newline'"
        ) from None
    return tuple(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def _chat_template(tokenizer: Any) -> str:
    template = str(tokenizer.get_chat_template())
    return _DATE + template if "strftime_now" in template else template


def _chat_roles(context: Sequence[Turn]) -> list[str]:
    """Return the speakers if they are chat roles; otherwise user and assistant alternately, back from the reply."""
    speakers = [turn.speaker or "" for turn in context]
    if speakers and set(speakers) <= _ROLES:
        return speakers
    return ["user" if back % 2 == 0 else "assistant" for back in range(len(context))][::-1]


def _break_marks(text: str, marks: Sequence[str]) -> str:
    """Return the text with a space inside each special token, so that no turn can imitate another."""
    for mark in marks:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text
