"""Which speaker labels name somebody who lasts from one dialogue to the next.

``A`` and ``B``, ``user`` and ``assistant`` are roles: another person plays them in every dialogue. A corpus most of
whose dialogues have role labels only is taken to have no lasting speakers at all, whatever its other dialogues say;
otherwise every label of it lasts (an ``assistant`` among users with names is one and the same).
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Lasting: TypeAlias = Literal["auto", "yes", "no"]

_ROLES = """
    agent assistant bot boy caller chatbot child client customer doctor driver female girl guest guide helper host human
    interviewer interviewee ai ai-assistant gpt listener machine male man model operator participant patient person
    persuadee persuader player prompter receptionist salesman seeker speaker student supporter system teacher tourist
    turker usr user waiter waitress wizard woman worker
""".split()
_ROLE = re.compile(rf"(?:{'|'.join(_ROLES)})(?:[ _#:-]*(?:\d|[a-z]))?|[a-z]|\d", re.IGNORECASE)


def is_role(label: str) -> bool:
    """Whether a label reads like a role: one letter or digit, or a word for a part that anybody can play."""
    return _ROLE.fullmatch(label.strip()) is not None
