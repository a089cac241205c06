"""The licences of the dialogue corpora, and the licence of weights that are trained on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rejoinder.models.speaker.vectors import TurnEncoder

# The corpora whose licences allow commercial use.
PERMISSIVE = (
    "aci_bench",
    "ami",
    "casino",
    "changelog",
    "chatterbot_corpus",
    "chitchat",
    "crd3",
    "icsi",
    "irc_ubuntu",
    "ms_chitchat",
    "mts_dialog",
    "multiwoz",
    "persuasion",
    "se_fiction",
    "se_fiction_us",
    "se_plays",
    "self_dialogue",
    "sgd",
    "spacelog",
    "star",
    "taskmaster4",
    "topical_chat",
    "topical_chat_rare",
    "wizard_of_internet",
    "wizard_of_wikipedia",
)
LICENCES = {
    "aci_bench": "CC BY 4.0",
    "ami": "CC BY 4.0",
    "casino": "CC BY 4.0",
    "changelog": "CC BY-SA 4.0",
    "chatterbot_corpus": "BSD-3-Clause",
    "chitchat": "MIT",
    "cmu_dog": "none stated",
    "commonsense_dialogues": "CC BY-NC 4.0",
    "cornell": "none stated",
    "crd3": "CC BY-SA 4.0",
    "dailydialog": "CC BY-NC-SA 4.0",
    "dream": "non-commercial",
    "empathetic": "CC BY-NC 4.0",
    "friends": "none stated (annotations MIT)",
    "icsi": "CC BY 4.0",
    "irc_ubuntu": "CC BY 4.0",
    "mrda": "GPL-3.0",
    "ms_chitchat": "MIT",
    "mts_dialog": "CC BY 4.0",
    "multiwoz": "MIT",
    "persuasion": "Apache-2.0",
    "se_fiction": "public domain, CC0",
    "se_fiction_us": "public domain in the US, CC0",
    "se_plays": "public domain, CC0",
    "self_dialogue": "BSD-3-Clause",
    "sgd": "CC BY-SA 4.0",
    "spacelog": "public domain",
    "star": "MIT",
    "swda": "GPL-3.0",
    "taskmaster4": "CC BY 4.0",
    "topical_chat": "CDLA-Sharing 1.0",
    "topical_chat_rare": "CDLA-Sharing 1.0",
    "wizard_of_internet": "CC BY 4.0",
    "wizard_of_wikipedia": "CC BY 4.0",
}


def weights_licence(corpora: Iterable[str]) -> str:
    """Return the licence of weights that are trained on the corpora; "not known" where one is not in the list."""
    names = set(corpora)
    if not names <= LICENCES.keys():
        return "not known"
    return "CC-BY-SA-4.0" if names <= set(PERMISSIVE) else "CC-BY-NC-SA-4.0"


def derived_licence(corpora: Sequence[str], vectors: TurnEncoder) -> str:
    """Return the licence of weights that derive from corpora and from vectors: the stricter one, if both are known."""
    of_data = weights_licence(corpora)
    if "not known" in (of_data, vectors.use.licence):
        return "not known"
    return "CC-BY-NC-SA-4.0" if "CC-BY-NC-SA-4.0" in (of_data, vectors.use.licence) else of_data
