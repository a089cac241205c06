"""The last turn of a context that is the reply itself: such a row would be scored as an answer to itself."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rejoinder.data.importer import ImportOptions, ImportTally
from rejoinder.data.importers._authors import ROLES, find_author
from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import suggest_score
from rejoinder.errors import InputError, brief

EQUAL_TO_REPLY = "last turns equal to the reply"
EQUAL_TO_REFERENCE = "last turns equal to a reference"
OTHER_REPLIES = "last turns that are another reply"
_LONGEST = 60

Turns = list[dict[str, str]]


class RowAnswers(NamedTuple):
    """What a row says about its last turn: its replies, its references, and the systems that replied."""

    replies: Sequence[str]
    references: Sequence[str]
    systems: Collection[str]


def drop_last_turn(
    context: Turns, answers: RowAnswers, options: ImportOptions, tally: ImportTally, place: Place
) -> Turns:
    """Return a context without the reply at its end; raise where it is not certain that the last turn is one.

    The turn of a bot that differs from the reply may be an earlier answer to the same turn, or a turn before the reply.
    A turn without a speaker that equals the reply may be the reply, or a turn that the reply repeats.
    """
    if options.last_turn == "keep" or not context:
        return context
    shorter = _shorten(context, answers, options, tally, place)
    if not shorter:
        raise InputError(f"{place}: the context holds only a reply; fill it or remove the row")
    return shorter


def _shorten(context: Turns, answers: RowAnswers, options: ImportOptions, tally: ImportTally, place: Place) -> Turns:
    last = context[-1]
    if len(context) == 1 and "speaker" not in last:
        return context  # what the reply answers
    speaker, text = last.get("speaker"), _normalise(last["text"])
    is_bot = speaker is not None and (speaker in answers.systems or find_author(speaker) in ("bot", "agent"))
    equals_reply = any(text == _normalise(reply) for reply in answers.replies)
    equals_reference = any(text == _normalise(reference) for reference in answers.references)
    if is_bot and (equals_reply or equals_reference):
        tally.left_out[EQUAL_TO_REPLY if equals_reply else EQUAL_TO_REFERENCE] += 1
        return context[:-1]
    # A turn of a customer or of a tool is not a reply.
    may_be_bot = is_bot or (equals_reply and len(context) > 1 and (speaker is None or not _is_other(speaker)))
    if not may_be_bot or not answers.replies:
        return context
    if options.last_turn == "drop":
        tally.left_out[EQUAL_TO_REPLY if equals_reply else OTHER_REPLIES] += 1
        return context[:-1]
    raise InputError(_ask(last, answers.replies[0], is_bot, place))


def repeats_reply(turn: str, replies: Sequence[str], options: ImportOptions) -> bool:
    """Whether the bot's turn before the replies of a logged call is left out: the reply, or what ``options`` say.

    A log says what was sent and what came back, so another turn is certain to be a turn before the reply.
    """
    if options.last_turn is not None:
        return options.last_turn == "drop"
    return _normalise(turn) in map(_normalise, replies)


def _is_other(speaker: str) -> bool:
    return find_author(speaker) is not None or ROLES.get(speaker.lower()) is not None


def _ask(last: Mapping[str, str], reply: str, is_bot: bool, place: Place) -> str:
    if is_bot:
        problem = (
            f"the context ends in a turn of {last['speaker']!r} ({brief(last['text'], _LONGEST)}) that is not the "
            f"reply ({brief(reply, _LONGEST)}); say whether it is another reply to the turn before it "
            "(--last-turn drop) or was said before the reply (--last-turn keep)"
        )
    else:
        problem = (
            f"the context ends in the text of the reply ({brief(reply, _LONGEST)}), and no speaker is named; say "
            "whether it is the reply itself (--last-turn drop) or a turn that the reply repeats (--last-turn keep)"
        )
    return f"{place}: {problem}, for example: {suggest_score(place, '--last-turn drop')}"


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()
