"""What a completion endpoint says of a prompt that it repeats: the log-probabilities of the last line's tokens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

VERSION = 1  # of how an answer is read
_MARK = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]|<\|.+\|>")  # <s>, <|begin_of_text|>, [CLS]
_SPELT = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # how vocabularies write white space


class UnechoedError(Exception):
    """An answer that does not hold the log-probabilities of the prompt; the text says why."""


def reply_values(content: str | None) -> list[float]:
    """The natural log-probabilities of the tokens of the prompt's last line, from a prompt and the answer to it.

    ``text_offset`` says where each token begins in the repeated text. A token that begins before the last line and
    reaches into it counts. What was written after the prompt does not.
    """
    prompt, choice = _read(content)
    start = prompt.rfind("\n") + 1
    text, found = choice.get("text"), choice.get("logprobs")
    if not isinstance(text, str) or not text.startswith(prompt):
        raise UnechoedError("it does not repeat the prompt (echo)")
    if not isinstance(found, dict):
        raise UnechoedError("it gives no log-probabilities (logprobs)")
    tokens, values, offsets = (found.get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not (isinstance(tokens, list) and isinstance(values, list) and isinstance(offsets, list)):
        raise UnechoedError("it gives no tokens, token_logprobs and text_offset")
    if not len(tokens) == len(values) == len(offsets) or not all(type(place) is int for place in offsets):
        raise UnechoedError("its tokens, token_logprobs and text_offset do not go together")
    begins = _places(text, [str(token) for token in tokens], offsets)
    ends = [*begins[1:], len(text)]
    own = [i for i, begin in enumerate(begins) if begin < len(prompt) and max(begin, ends[i] - 1) >= start]
    spelt = "".join(str(tokens[i]) for i in own).translate(_SPELT)
    # Characters beyond ASCII may be cut between tokens, and every server writes the pieces in its own way.
    if prompt[start:].isascii() and not spelt.endswith(prompt[start:]):
        raise UnechoedError("its text_offset does not fit the text that it repeats")
    return [_number(values[i]) for i in own]


def _read(content: str | None) -> tuple[str, dict[str, Any]]:
    """The prompt and the first choice of its answer."""
    try:
        both = json.loads(content or "")
        prompt, choice = both["prompt"], json.loads(both["answer"])["choices"][0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        choice = None
    if not isinstance(choice, dict):
        raise UnechoedError("it gives no completion")
    return prompt, choice


def _places(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> list[int]:
    """Where each token begins in the text; some servers count a first mark as if it stood in it."""
    counted = bool(tokens) and _MARK.fullmatch(tokens[0]) is not None and not text.startswith(tokens[0])
    shift = offsets[1] - offsets[0] if counted and len(offsets) > 1 else 0
    first = offsets[0] if offsets else 0
    return [max(0, place - first - shift) for place in offsets]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnechoedError("it gives no log-probability for some token of the reply")
    return float(value)
