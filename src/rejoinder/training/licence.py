"""The licences of the dialogue corpora, and the one that weights trained on some of them may have."""

from __future__ import annotations

from collections.abc import Iterable

# The corpora whose licences allow commercial use.
PERMISSIVE = ("irc_ubuntu", "persuasion", "sgd", "taskmaster4", "topical_chat")
LICENCES = {
    "cmu_dog": "none stated",
    "commonsense_dialogues": "CC BY-NC 4.0",
    "cornell": "none stated",
    "dailydialog": "CC BY-NC-SA 4.0",
    "dream": "non-commercial",
    "empathetic": "CC BY-NC 4.0",
    "friends": "none stated (annotations MIT)",
    "irc_ubuntu": "CC BY 4.0",
    "mrda": "GPL-3.0",
    "persuasion": "Apache-2.0",
    "sgd": "CC BY-SA 4.0",
    "swda": "GPL-3.0",
    "taskmaster4": "CC BY 4.0",
    "topical_chat": "CDLA-Sharing 1.0",
}


def weights_licence(corpora: Iterable[str]) -> str:
    """The licence that weights trained on the corpora may have; whose corpora are their own must say it themselves."""
    names = set(corpora)
    if not names <= LICENCES.keys():
        return "not known"
    return "CC-BY-SA-4.0" if names <= set(PERMISSIVE) else "CC-BY-NC-SA-4.0"
