"""Conversations of chat logs as records: an item per reply, the responses to it, and their ratings."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers._ids import IdAssigner, ResponsePlacer, content_digest
from rejoinder.data.importers._last_turn import EQUAL_TO_REPLY, OTHER_REPLIES, repeats_reply
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._messages import EMPTY_MESSAGES, TOOL_MESSAGES, Message, parse_message
from rejoinder.data.importers._ratings import LogRating
from rejoinder.data.importers._tools import ToolEvent, join_tool_calls, list_tool_events
from rejoinder.data.objects import turn_object
from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import suggest_import
from rejoinder.errors import InputError
from rejoinder.types import UNNAMED, Item, Rating, Reference, Response, Turn

TAKES = frozenset({"system", "rater", "max_turns", "last_turn", "markup"})
OPENING_MESSAGES = "assistant messages that open a conversation"
REPEATED_RESPONSES = "replies that were read already"
NO_TURNS = "conversations without a turn"
AGENTS = "messages of human agents = context, not replies"
ONLY_AGENTS = "conversations with human agents but no bot"


@dataclasses.dataclass(frozen=True)
class Conversation:
    """One log: its messages, its id, and the id it gets if another conversation has that one."""

    id: str
    # Whether logs with this id are the same conversation; otherwise only their contexts are compared.
    named: bool
    otherwise: str
    # What no other log has, if it is not named.
    key: str
    model: str | None
    messages: tuple[Message | None, ...]
    file: str
    place: Place
    left_out: Counter[str]
    # What had been left out before each message.
    left_out_before: tuple[Counter[str], ...]
    ratings: tuple[LogRating, ...] = ()
    # Whether the log is of one call; its item is then named by the context, the same in every file.
    is_exchange: bool = False
    # The conversation that one call belongs to.
    session: str | None = None
    # Replies that are known to be good.
    references: tuple[Reference, ...] = ()
    # The calls of tools and their results, each with the number of its message.
    tools: tuple[tuple[int, ToolEvent], ...] = ()


class MessageList:
    """The messages of a log as they are read, with what had been left out before each."""

    def __init__(self, place: Place) -> None:
        self._place = self._here = place
        self.messages: list[Message | None] = []
        self.left_out: Counter[str] = Counter()
        self.left_out_before: list[Counter[str]] = []
        self.tools: list[tuple[int, ToolEvent]] = []

    def move(self, place: Place) -> None:
        """Say where the next messages are, if not where the first ones were."""
        self._here = place

    def read(self, values: Iterable[Any], is_context: bool = False) -> None:
        """Add messages of a log; ``is_context``: none of them is a response."""
        for value in values:
            self.left_out_before.append(self.left_out.copy())
            message = parse_message(value, self._here, len(self.messages) + 1, self.left_out)
            if message is not None:
                message = message._replace(place=self._here, is_context=is_context or message.is_context)
            self.tools += [(len(self.messages), event) for event in list_tool_events(value)]
            self.messages.append(message)

    def read_replies(self, values: Iterable[Any]) -> None:
        """Add replies to what was said before: the first with text is the turn, the further ones are others."""
        self.left_out_before.append(self.left_out.copy())
        number = len(self.messages) + 1
        replies = [m for v in values if (m := parse_message(v, self._here, number, self.left_out)) is not None]
        first = replies[0]._replace(place=self._here, others=tuple(replies[1:])) if replies else None
        self.messages.append(first)

    def strip(self, stripper: MarkupStripper) -> None:
        """Strip the markup of the messages; one that holds several turns becomes several messages."""
        stripped = [_strip_message(message, stripper, self.left_out) for message in self.messages]
        places = list(itertools.accumulate((len(parts) for parts in stripped), initial=0))
        self.messages = [message for parts in stripped for message in parts]
        self.left_out_before = [
            counts for counts, parts in zip(self.left_out_before, stripped, strict=True) for _ in parts
        ]
        self.tools = [(places[number], event) for number, event in self.tools]

    def conversation(self, file: File, log_id: str | None, *, is_exchange: bool = False, **more: Any) -> Conversation:
        """Return the conversation; ``is_exchange``: its id is that of one call, so it has one reply."""
        numbered = f"{file.stem}-{self._place.line}"
        return Conversation(
            id=numbered.rpartition("/")[2] if log_id is None else log_id,
            named=log_id is not None and not is_exchange,
            is_exchange=is_exchange,
            otherwise=numbered if log_id is None else f"{file.stem}/{log_id}",
            key=f"{file.stem} {self._place}" if log_id is None else log_id,
            messages=tuple(self.messages),
            file=file.stem,
            place=self._place,
            left_out=self.left_out,
            left_out_before=tuple(self.left_out_before),
            tools=tuple(self.tools),
            **more,
        )


def _strip_log(log: Conversation, stripper: MarkupStripper) -> Conversation:
    """Return a log without markup in its messages."""
    said = MessageList(log.place)
    said.messages, said.left_out_before, said.tools = list(log.messages), list(log.left_out_before), list(log.tools)
    said.left_out = log.left_out.copy()
    said.strip(stripper)
    return replace(
        log,
        messages=tuple(said.messages),
        left_out=said.left_out,
        left_out_before=tuple(said.left_out_before),
        tools=tuple(said.tools),
    )


def _strip_message(message: Message | None, stripper: MarkupStripper, left_out: Counter[str]) -> list[Message | None]:
    """Return the messages that one message holds; None for one of which nothing is left."""
    if message is None:
        return [None]
    stripped: list[Message] = []
    if message.role == "assistant":
        replies = [
            one._replace(text=text, others=())
            for one in (message, *message.others)
            if (text := stripper.reply(one.text))
        ]
        stripped = [replies[0]._replace(others=tuple(replies[1:]), place=message.place)] if replies else []
    elif message.role == "system":
        stripped = [message._replace(text=text)] if (text := stripper.prompt(message.text)) else []
    else:
        for turn in stripper.turns([{"speaker": message.role, "text": message.text}]):
            role = turn.get("speaker", message.role)
            if role == "tool":
                left_out[TOOL_MESSAGES] += 1
            else:  # an answer in a user's message is part of the prompt
                is_context = message.is_context or role == "assistant"
                stripped.append(message._replace(role=role, text=turn["text"], is_context=is_context))
    if not stripped:
        left_out[EMPTY_MESSAGES[message.role]] += 1
    return [*stripped] or [None]


class ChatConverter:
    """Turns conversations into records, and remembers the ids, replies and system prompts so far."""

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self._options = options
        self._tally = tally
        self.stripper = MarkupStripper(options, tally)
        self._dialogues, self._items = IdAssigner(), IdAssigner()
        self._replies = ResponsePlacer()
        self._prompts: dict[str, bytes] = {}
        self._futures: dict[str, bytes] = {}
        self._response_ids: Counter[str] = Counter()
        self._ratings: Counter[tuple[str | None, ...]] = Counter()
        self._are_words: dict[str, bool] = {}  # the ratings of an aspect

    def records(self, log: Conversation) -> Iterator[ImportedRecord]:
        """Yield each reply as a response to an item whose context is the messages before it, then its ratings."""
        log = _strip_log(log, self.stripper)
        self._tally.left_out.update(log.left_out)
        messages = [(n, m) for n, m in enumerate(log.messages) if m is not None and m.role != "system"]
        if log.is_exchange:
            messages = self._drop_repeated_reply(messages)
        turns = tuple(Turn(m.text, m.role) for _, m in messages)
        if agents := sum(message.role == "agent" for _, message in messages):
            if not any(message.role == "assistant" for _, message in messages):
                self._tally.left_out[ONLY_AGENTS] += 1
                return
            self._tally.changes[AGENTS] += agents
        if not turns:
            self._tally.left_out[NO_TURNS] += 1
            return
        dialogue = self._name_dialogue(log, turns)
        responses: list[Response] = []
        for position, (number, message) in enumerate(messages):
            if message.role != "assistant" or message.is_context:
                continue
            if position == 0:
                self._tally.left_out[OPENING_MESSAGES] += 1
                continue
            for record in self._reply(log, message, number, turns, position, dialogue):
                yield ImportedRecord(record, message.place or log.place)
                if isinstance(record, Response):
                    responses.append(record)
        yield from self._rate_conversation(log, responses, dialogue)

    def _drop_repeated_reply(self, messages: list[tuple[int, Message]]) -> list[tuple[int, Message]]:
        """Return the messages of a call without the reply among those that were sent, as its last one."""
        first = next((n for n, (_, m) in enumerate(messages) if m.role == "assistant" and not m.is_context), 0)
        if first == 0:
            return messages
        reply, before = messages[first][1], messages[first - 1][1]
        replies = [one.text for one in (reply, *reply.others)]
        if before.role != "assistant" or not repeats_reply(before.text, replies, self._options):
            return messages
        self._tally.left_out[EQUAL_TO_REPLY if self._options.last_turn is None else OTHER_REPLIES] += 1
        return messages[: first - 1] + messages[first:]

    def _rate_conversation(
        self, log: Conversation, responses: list[Response], dialogue: str | None
    ) -> Iterator[ImportedRecord]:
        if not responses:
            return
        # A rating of the whole belongs to its only reply, if there is only one; that of a call to its first reply.
        is_of_reply = len(responses) == 1 or log.is_exchange
        target = {"response": responses[0].id} if is_of_reply else {"dialogue": dialogue}
        systems = {response.system for response in responses}
        # Another system may have continued the same dialogue, in another log.
        about = {} if is_of_reply or len(systems) > 1 else {"system": responses[0].system}
        for record in self.rate(log.ratings, **target):
            yield ImportedRecord(replace(record, meta={**record.meta, **about}) if about else record, log.place)

    def _name_dialogue(self, log: Conversation, turns: tuple[Turn, ...]) -> str | None:
        if log.is_exchange:
            return log.session
        # Two logs with one id are the same conversation if they begin with the same turn: systems can be compared.
        own = content_digest(log.id, turns[:1]) if log.named else content_digest(log.file, str(log.place))
        return self._dialogues.assign(log.id, own, log.otherwise)[0]

    def _reply(
        self,
        log: Conversation,
        message: Message,
        number: int,
        turns: tuple[Turn, ...],
        position: int,
        dialogue: str | None,
    ) -> Iterator[Item | Response | Rating]:
        system = self.system_of(message.model or log.model, log.place)
        wanted = f"{dialogue or log.id}/{position}"
        # Without an id, only the context shows whether two systems answered the same thing.
        references = [log.references] if log.references else []
        context_digest = content_digest(wanted if log.named else log.session or "", turns[:position], *references)
        if log.is_exchange:
            wanted = context_digest.hex()[:12] if log.session is None else f"{log.id}/{position}"
        reply_key = message.text if log.named else f"{log.key} {number}"
        content, is_new = self._replies.place(context_digest, system, reply_key)
        if not is_new:
            self._tally.left_out[REPEATED_RESPONSES] += 1
            return
        name, new = self._items.assign(wanted, content, None if log.is_exchange else f"{log.file}/{wanted}")
        prompt = "\n".join(m.text for m in log.messages[:number] if m is not None and m.role == "system")
        # What was called since the user spoke was called for this reply.
        asked = max((n for n, m in enumerate(log.messages[:number]) if m is not None and m.role == "user"), default=0)
        future = turns[position + 1 :]
        if new:
            self._prompts[name], self._futures[name] = content_digest(prompt), content_digest(future)
            meta: dict[str, Any] = {"system_prompt": prompt} if prompt else {}
            if log.left_out_before[number]:
                meta["left_out"] = dict(log.left_out_before[number])
            if earlier := _list_tool_calls(log, 0, asked):
                meta["tool_calls"] = earlier
            yield Item(name, turns[:position], log.references, future, dialogue=dialogue, meta=meta)
        differs = self._prompts[name] != content_digest(prompt)
        reply_meta: dict[str, Any] = {"system_prompt": prompt} if differs else {}
        if not log.references and self._futures[name] != content_digest(future):
            reply_meta["future"] = [turn_object(turn) for turn in future]
        if own := _list_tool_calls(log, asked, number + 1):
            reply_meta["tool_calls"] = own
        for reply in (message, *message.others):
            response = self.respond(name, self.system_of(reply.model or system, log.place), reply.text, reply_meta)
            yield response
            yield from self.rate(reply.ratings, response=response.id)

    def respond(self, item: str, system: str, text: str, meta: dict[str, Any]) -> Response:
        """Return a response; a further one of the same system to the same item gets a number."""
        name = f"{item}/{system}"
        self._response_ids[name] += 1
        number = self._response_ids[name]
        return Response(name if number == 1 else f"{name}~{number}", item, system, text, meta)

    def rate(
        self, ratings: Iterable[LogRating], response: str | None = None, dialogue: str | None = None
    ) -> Iterator[Rating]:
        """Yield the ratings of a response or of a dialogue.

        Whoever has no name is somebody else on every reply. A second rating by a program gets a numbered name.
        """
        for rating in ratings:
            rater, aspect = self._options.rater or rating.rater, rating.aspect.strip() or "rating"
            if self._are_words.setdefault(aspect, rating.is_word) != rating.is_word:
                raise InputError(
                    f"the ratings {aspect!r} are words such as good in one place and numbers in another, so nobody "
                    "knows what a word is worth; write all of them in one way"
                )
            key = (response, dialogue, rater, aspect)
            self._ratings[key] += 1
            number = self._ratings[key]
            name = f"{UNNAMED}{number}" if rater is None else rater if number == 1 else f"{rater}-{number}"
            meta = {"comment": rating.comment} if rating.comment else {}
            yield Rating(name, aspect, rating.value, response, dialogue, meta)

    def system_of(self, model: str | None, place: Place) -> str:
        """Return the system that replied: as the user said, else as the log says."""
        system = self._options.system or model or self._options.unnamed
        if system is None:
            raise InputError(
                f"{place}: the log has no 'model'; name the system that replied: "
                f"{suggest_import(place, '--system NAME')}"
            )
        return system


def _list_tool_calls(log: Conversation, start: int, end: int) -> list[dict[str, Any]]:
    """The calls of tools in some messages of a log, with their results."""
    return join_tool_calls(event for number, event in log.tools if start <= number < end)
