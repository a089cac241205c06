"""A text in another order: sentences swapped, a subordinate clause or a "please" moved to the other end."""

from __future__ import annotations

import random
import re

_SENTENCE = re.compile(r"[^.!?]+(?:[.!?]+[\"'’”)]*|$)\s*")
_LINKS = "because|if|when|although|though|unless|while|since|before|after|once"
# "B because A." and "Because A, B."; neither clause may be split further, or it would be unclear what belongs where.
_CLAUSE_LAST = re.compile(
    rf"(?P<main>[^,;:]+?)\s*,?\s+(?P<link>{_LINKS})\s+(?P<rest>[^,;:]+?)(?P<end>\s*[.!]*)$", re.IGNORECASE
)
_CLAUSE_FIRST = re.compile(
    rf"(?P<link>{_LINKS})\s+(?P<rest>[^,;:]+?)(?P<comma>\s*,\s*)(?P<main>[^,;:]+?)(?P<end>\s*[.!]*)$", re.IGNORECASE
)
_MOVABLE = "please|maybe|perhaps|of course|actually|in fact|by the way|thank you|thanks"
_LEADING = re.compile(rf"(?P<move>{_MOVABLE})\s*,\s*(?P<main>[^,;:]+?)(?P<end>\s*[.!?]*)$", re.IGNORECASE)
_TRAILING = re.compile(rf"(?P<main>[^,;:]+?)(?P<comma>\s*,\s*)(?P<move>{_MOVABLE})(?P<end>\s*[.!?]*)$", re.IGNORECASE)
_MIN_WORDS = 2  # of words in a clause
_KEEPS_CAPITAL = re.compile(r"I\b|[A-Z][a-z]*[A-Z]|[A-Z]{2}")


def list_reorderings(text: str) -> list[str]:
    """Return every text that one move makes of this one."""
    sentences = [s.strip() for s in _SENTENCE.findall(text) if s.strip()]
    reorderings = []
    for i, sentence in enumerate(sentences):
        reorderings += [
            " ".join([*sentences[:i], reordered, *sentences[i + 1 :]]) for reordered in _move_parts(sentence)
        ]
        # Short ones ("Well .", "Yes .") answer the previous turn and must stay first.
        if i and min(len(s.split()) for s in sentences[i - 1 : i + 1]) > _MIN_WORDS + 1:
            reorderings.append(" ".join([*sentences[: i - 1], sentence, sentences[i - 1], *sentences[i + 1 :]]))
    return [other for other in dict.fromkeys(reorderings) if other != " ".join(sentences)]


def reorder_text(rng: random.Random, text: str) -> str:
    """Return the text in one of its other orders; unchanged if it has none."""
    reorderings = list_reorderings(text)
    return rng.choice(reorderings) if reorderings else text


def _move_parts(sentence: str) -> list[str]:
    """Return the sentence with one of its clauses or phrases moved, in every way."""
    results = []
    for pattern, front in ((_CLAUSE_LAST, True), (_CLAUSE_FIRST, False)):
        match = pattern.match(sentence)
        if match and all(len(match[part].split()) >= _MIN_WORDS for part in ("main", "rest")):
            comma = " , " if " ," in sentence or sentence.endswith((" .", " !")) else ", "
            main, clause = match["main"], f"{match['link'].lower()} {match['rest']}"
            result = f"{capitalise(clause)}{comma}{decapitalise(main)}" if front else f"{capitalise(main)} {clause}"
            results.append(result + match["end"])
    if match := _LEADING.match(sentence):
        comma = " , " if " ," in sentence else ", "
        results.append(f"{capitalise(match['main'])}{comma}{match['move'].lower()}{match['end']}")
    if match := _TRAILING.match(sentence):
        comma = " , " if " ," in sentence else ", "
        results.append(f"{capitalise(match['move'])}{comma}{decapitalise(match['main'])}{match['end']}")
    # A sentence that began in lower case still does.
    return [result if sentence[:1].isupper() else decapitalise(result) for result in results]


def capitalise(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def decapitalise(text: str) -> str:
    """Return the text with its first letter in lower case, unless it begins with "I" or an abbreviation."""
    return text if _KEEPS_CAPITAL.match(text) else text[:1].lower() + text[1:]
