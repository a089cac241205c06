"""Flags of a pair beside its scores: they are counted and shown, and no pair is dropped because of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rejoinder.errors import RejoinderError
from rejoinder.metric import Languages, parse_stored
from rejoinder.text.language import looks_english
from rejoinder.types import Pair

VERSION = 1
MEANINGS = {
    "empty": "empty replies: not scored (NaN)",
    "near_empty": "nearly empty replies (fewer than two letters or digits): scored, but such scores say little",
    "not_english": "replies that do not look English: scored, but not every metric is made for their language",
    "truncated_context": "replies to a context whose beginning was cut off: scored without what is missing",
}
_MADE_FOR: dict[Languages, str] = {
    "English": "made for English",
    "model": "for the languages of the model or vectors in use (by default English)",
    "spaces": "for languages with spaces between words (for others tokenizer='words')",
}
_BEGINNING = 40
_LETTERS = re.compile(r"[^\W_]")


def find_flags(pairs: Sequence[Pair]) -> list[list[str]]:
    """Return the flags of each pair, in the order of MEANINGS."""
    return [_find_pair_flags(pair) for pair in pairs]


def _find_pair_flags(pair: Pair) -> list[str]:
    text = pair.response.text
    flags = []
    if not text or text.isspace():
        flags.append("empty")
    elif len(_LETTERS.findall(text, 0, _BEGINNING)) < 2 and sum(map(str.isalnum, text)) < 2:
        flags.append("near_empty")
    elif not looks_english(text):
        flags.append("not_english")
    if pair.item.truncated:
        flags.append("truncated_context")
    return flags


def describe_languages(metrics: Mapping[str, Languages | None]) -> list[str]:
    """Return for which languages metrics are made, by spec; nothing where that is any language.

    None stands for a metric of a run of an earlier version, which did not store its languages.
    """
    by_kind: dict[Languages, list[str]] = {}
    for spec, languages in metrics.items():
        try:
            by_kind.setdefault(languages or parse_stored(spec).languages, []).append(spec)
        except RejoinderError:  # a metric of a user's file, or of a plug-in that is not installed here
            continue
    said = [f"{', '.join(by_kind[kind])}: {words}" for kind, words in _MADE_FOR.items() if kind in by_kind]
    return [f"Languages (docs/languages.md): {'; '.join(said)}."] if said else []
