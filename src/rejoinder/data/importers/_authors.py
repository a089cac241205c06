"""Who wrote a message, by a role or a name: a bot, a person of the help desk, a customer, or the program itself."""

from __future__ import annotations

import re
from typing import Literal

EVENTS = "system events"  # what they are called where they are counted
Author = Literal["bot", "agent", "customer", "event"]

# The roles in chat logs, and the role each one means here.
ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "function_call": "tool",
    "observation": "tool",
}

_BOTS = frozenset(
    "bot chatbot assistant ai gpt chatgpt claude gemini llm model virtualagent virtual automated automation".split()
)
# People who answer for the help desk.
_AGENTS = frozenset(
    "agent agents operator operators admin administrator staff representative rep employee teammate supporter "
    "moderator".split()
)
_CUSTOMERS = frozenset("user enduser customer visitor client requester guest consumer human".split())
_EVENTS = frozenset("system developer event events systemevent systemmessage notification activity audit log".split())

# What entries of a conversation are that no one said, without case, spaces, - and _.
EVENT_TYPES = frozenset(
    "event system systemevent systemmessage notification activity audit status statuschange assignment close closed "
    "open opened reopened snoozed unsnoozed join joined leave left transfer transferred chatstarted chatended".split()
)
NOTE_TYPES = frozenset("note internalnote privatenote internal".split())
# What help desks write into a conversation as if an agent had said it.
_EVENT_TEXT = re.compile(
    r"[^\n.?!]{1,60} (?:has |have )?(?:joined|left|entered|rejoined|ended|closed)"
    r" the (?:chat|conversation|room|session)\.?"
    r"|(?:the |this )?(?:ticket|chat|conversation|case|session)(?: #?\d+)? (?:has been |was |is |has )?(?:now )?"
    r"(?:closed|opened|reopened|created|resolved|solved|ended|started|assigned|transferred|escalated|merged|archived)"
    r"(?: (?:to|by|from) [^\n.?!]{1,60})?\.?",
    re.IGNORECASE,
)


def find_author(name: str) -> Author | None:
    """Return who a role or a name stands for; None if no word in it says so."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if any(word in _BOTS or word.endswith("bot") for word in words):
        return "bot"
    if any(word in _AGENTS for word in words):
        return "agent"
    if "".join(words) in _EVENTS:
        return "event"
    if any(word in _CUSTOMERS for word in words):
        return "customer"
    return None


def is_event_text(text: str) -> bool:
    """Whether a text is what a program writes about a conversation: "Agent joined the chat"."""
    return _EVENT_TEXT.fullmatch(text.strip()) is not None
