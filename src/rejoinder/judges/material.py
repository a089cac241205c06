"""What a judge sees: the conversation, the reply, and the parts of the item that the rubric names.

Turns by ``system`` that open a context stay in the conversation. For a rubric of whole dialogues, the conversation
goes from its beginning to the reply, and on to what is known to have followed, and the judged speaker is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rejoinder.data.dialogue_places import turns_after
from rejoinder.data.parts import read_meta_prompt, read_part, split_system_turns
from rejoinder.judges.endpoint import RatingRequest
from rejoinder.judges.pairs import ResponsePair
from rejoinder.judges.prompt import format_turns, name_speaker
from rejoinder.judges.rubric import Rubric
from rejoinder.types import Pair, Turn

_ASSISTED = frozenset({"user", "human"})
_SHOWN: dict[str, Callable[[Pair], Any]] = {
    "system_prompt": read_meta_prompt,
    "documents": lambda pair: read_part(pair, "documents"),
    "situation": lambda pair: [statement.text for statement in pair.item.situation],
    "tool_calls": lambda pair: read_part(pair, "tool_calls"),
    "references": lambda pair: [reference.text for reference in pair.item.references],
}


def build_rating_request(rubric: Rubric, pair: Pair) -> RatingRequest:
    """Return what a judge sees of one reply, or of the dialogue that it ends."""
    shown = show_parts(rubric, pair)
    if rubric.unit == "reply":
        return RatingRequest(pair.item.context, pair.response.text, shown)
    turns = join_dialogue(pair)
    return RatingRequest(turns, "", {**shown, "judged speaker": name_speaker(turns, len(pair.item.context))})


def build_choice_request(rubric: Rubric, first: Pair, second: Pair) -> ResponsePair:
    """Return what a judge sees of two replies to one item, or of two dialogues.

    What the two have in common is shown once; what only one has, or each has for itself, is shown as its own.
    """
    both = [show_parts(rubric, pair) for pair in (first, second)]
    names = [name for part in rubric.parts if (name := part.replace("_", " ")) in both[0] or name in both[1]]
    shown: dict[str, Any] = {}
    for name in names:
        if both[0].get(name) == both[1].get(name):
            shown[name] = both[0][name]
        else:
            shown |= {f"{name} of the {place}": of[name] for place, of in zip(_PLACES, both, strict=True) if name in of}
    if rubric.unit == "reply":
        return ResponsePair(first.item.context, first.response.text, second.response.text, shown)
    for place, pair in zip(_PLACES, (first, second), strict=True):
        turns = join_dialogue(pair)
        shown[f"{place} conversation"] = format_turns(turns)
        shown[f"judged speaker of the {place}"] = name_speaker(turns, len(pair.item.context))
    return ResponsePair((), "", "", shown)


_PLACES = ("first", "second")


def show_parts(rubric: Rubric, pair: Pair) -> dict[str, Any]:
    """Return the parts that a rubric names and the item has, by the names that the judge reads."""
    values = {part.replace("_", " "): _SHOWN[part](pair) for part in rubric.parts if part in _SHOWN}
    return {name: value for name, value in values.items() if value}


def join_dialogue(pair: Pair) -> tuple[Turn, ...]:
    """Return the turns of a whole dialogue: the context, the reply, and the turns that followed it."""
    reply = Turn(pair.response.text, _find_replier(pair.item.context))
    return (*pair.item.context, reply, *turns_after(pair))


def _find_replier(context: Sequence[Turn]) -> str | None:
    """The speaker whose turn it is after a context: the last one to speak before the last turn, if turns have names."""
    names = [turn.speaker for turn in split_system_turns(context)[1]]
    if not names or names[-1] is None:
        return None
    others = [name for name in names if name is not None and name != names[-1]]
    return others[-1] if others else "assistant" if names[-1].lower() in _ASSISTED else "replier"
