"""Who wrote a message, by a role or a name: a bot, a person of the help desk, a customer, or the program itself."""

from __future__ import annotations

import re
from typing import Literal

Author = Literal["bot", "agent", "customer", "event"]

_BOTS = frozenset(
    "bot chatbot assistant ai gpt chatgpt claude gemini llm model virtualagent virtual automated automation".split()
)
# People who answer for the help desk.
_AGENTS = frozenset(
    "agent agents operator operators admin administrator staff representative rep employee teammate supporter "
    "moderator".split()
)
_CUSTOMERS = frozenset(
    "user enduser customer visitor client requester contact lead guest consumer human buyer patient member".split()
)
_EVENTS = frozenset("system event events systemevent systemmessage notification activity audit log".split())


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
