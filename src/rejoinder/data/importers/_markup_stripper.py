"""The texts of a foreign file without markup, or with it if the user says so; what was done is counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from rejoinder.data.importer import ImportOptions, ImportTally
from rejoinder.data.importers._authors import ROLES
from rejoinder.data.importers._markup import (
    Part,
    is_open_transcript,
    split_label,
    split_template,
    split_transcript,
    strip_ends,
    strip_reasoning,
)

REASONING = "reasoning in <think> tags"
TURNS_BEFORE = "turns before the reply in its own text"
TURNS_AFTER = "turns after the reply in its own text"
TAGS = "tags of chat templates removed from texts"
TEMPLATES = "chat templates split into turns"
TRANSCRIPTS = "transcripts split into turns"
LABELS = "names of roles removed from texts"

Turns = list[dict[str, str]]


class MarkupStripper:
    """Strips the markup of contexts, replies, references and prompts, as ``options`` say, and counts in ``tally``."""

    def __init__(self, options: ImportOptions, tally: ImportTally) -> None:
        self.tally = tally
        self._keeps = options.markup == "keep"

    def turns(self, turns: Turns, replies: Iterable[str] = ()) -> Turns:
        """Return the turns of a context; ``replies`` to it may show that a lone turn begins with a role."""
        if self._keeps:
            return turns
        if len(turns) == 1 and "speaker" not in turns[0] and (label := split_label(turns[0]["text"])):
            labels = [split_label(reply) for reply in replies]
            if label.role == "user" and labels and all(one and one.role == "assistant" for one in labels):
                self.tally.changes[LABELS] += 1
                return [{"speaker": "user", "text": label.text}]
        labelled = self._label_turns(turns)
        return [part for turn in labelled for part in self._turn(turn)]

    def _label_turns(self, turns: Turns) -> Turns:
        """Return turns with the roles that stand before their texts, if they stand before all and alternate."""
        if len(turns) < 2 or any("speaker" in turn for turn in turns):
            return turns
        parts = [split_label(turn["text"]) for turn in turns]
        roles = [part.role for part in parts if part is not None]
        spoken = roles[1:] if roles[:1] == ["system"] else roles
        if len(roles) < len(turns) or "system" in spoken or len(spoken) < 2:
            return turns
        if any(role == later for role, later in itertools.pairwise(spoken)):
            return turns
        self.tally.changes[LABELS] += len(turns)
        return [{"speaker": str(part.role), "text": part.text} for part in parts if part is not None]

    def _turn(self, turn: dict[str, str]) -> Turns:
        """Return one turn as the turns that its text holds."""
        speaker, text = turn.get("speaker"), turn["text"]
        role = ROLES.get(speaker.lower(), speaker) if speaker is not None else None
        parts = self.split(text, role) if role in (None, "user") else None
        if parts is not None:
            return [
                {"text": part.text} if part.role is None else {"speaker": part.role, "text": part.text}
                for part in parts
            ]
        plain = self.prompt(text) if role == "system" else self._strip(text, role in (None, "assistant"))
        return [{**turn, "text": plain}] if plain else []

    def split(self, text: str, role: str | None) -> list[Part] | None:
        """Return the turns in a text of a user, or of nobody who is named; None if it is one turn."""
        if self._keeps:
            return None
        parts = split_template(text)
        kind = TEMPLATES
        # A user may quote a transcript; only one that the assistant is to continue is a prompt.
        if parts is None and (role is None or is_open_transcript(text)):
            parts, kind = split_transcript(text), TRANSCRIPTS
        if not parts:
            return None
        self.tally.changes[kind] += 1
        stripped = [
            part._replace(text=self._strip(part.text, True)) if part.role in (None, "assistant") else part
            for part in parts
        ]
        return [part for part in stripped if part.text]

    def reply(self, text: str, context: Turns | None = None, in_transcript: bool = False) -> str:
        """Return a reply, or a reference; of a conversation that holds the turn before it, only the reply.

        ``in_transcript``: the context was a transcript, so that a role before the reply is not part of it.
        """
        if self._keeps:
            return text
        parts = split_template(text)
        if parts is not None:
            self.tally.changes[TAGS] += 1
            text = self._choose_reply(parts)
        elif (parts := split_transcript(text)) and context and any(p.text == context[-1]["text"] for p in parts[:-1]):
            self.tally.changes[TRANSCRIPTS] += 1
            text = self._choose_reply(parts)
        elif in_transcript and (label := split_label(text)) and label.role == "assistant":
            self.tally.changes[LABELS] += 1
            text = label.text
        return self._strip(text, True)

    def _choose_reply(self, parts: Sequence[Part]) -> str:
        """Return the reply among the turns in its text: the first if a bot begins, else the bot's last."""
        own = [n for n, part in enumerate(parts) if part.role in (None, "assistant")]
        if not own:
            return "\n".join(part.text for part in parts)
        place = 0 if own[0] == 0 else own[-1]
        self._count(TURNS_BEFORE, place)
        self._count(TURNS_AFTER, len(parts) - place - 1)
        return parts[place].text

    def _count(self, reason: str, number: int) -> None:
        if number:
            self.tally.left_out[reason] += number

    def prompt(self, text: str) -> str:
        """Return a system prompt."""
        if self._keeps:
            return text
        parts = split_template(text)
        if parts is None:
            return self._strip(text, False)
        self.tally.changes[TAGS] += 1
        return "\n".join(part.text for part in parts)

    def _strip(self, text: str, is_reply: bool) -> str:
        """Return a text without the tags at its ends and, if a bot may have written it, without reasoning."""
        plain = strip_ends(text)
        if plain != text:
            self.tally.changes[TAGS] += 1
        spoken = strip_reasoning(plain) if is_reply else plain
        if spoken != plain:
            self.tally.left_out[REASONING] += 1
        return spoken
