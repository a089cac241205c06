"""A text split into pieces that can be left out: words with the punctuation after them, clauses, sentences.

Words are separated by white space. Chinese, Japanese, Thai, Lao, Khmer and Burmese put none between words: there a
piece is one character with its marks (a run of katakana is one piece).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from rejoinder.text.sentences import split_sentences

Unit: TypeAlias = Literal["word", "sentence", "stretch"]
MAX_PIECES = 60
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_KATAKANA}]+|[{_UNSPACED}]|[^\s{_KATAKANA}{_UNSPACED}]+")
_CLAUSE_END = re.compile(r"(?<=[,;:])\s+|(?<=[、，；：])|\s+[–—-]\s+")


class TextPiece(NamedTuple):
    """A piece of a text, and its position."""

    text: str
    start: int
    end: int


def split_word_pieces(text: str) -> list[TextPiece]:
    """The words of a text; punctuation belongs to the word before it, or to the first word."""
    pieces: list[TextPiece] = []
    leading: int | None = None
    for match in _WORD.finditer(text):
        start, end = match.span()
        if pieces and _is_dependent(match[0]):
            start = pieces.pop().start
        elif leading is not None:
            start, leading = leading, None
        elif not pieces and _is_dependent(match[0]) and end < len(text.rstrip()):
            leading = start
            continue
        pieces.append(TextPiece(text[start:end], start, end))
    return pieces


def sentence_pieces(text: str) -> list[TextPiece]:
    """The sentences of a text."""
    return _locate_pieces(text, split_sentences(text))


def split_sentence_or_clause_pieces(text: str) -> list[TextPiece]:
    """The sentences of an utterance, or the clauses of its only sentence; none if it is one clause."""
    pieces = sentence_pieces(text)
    if len(pieces) < 2:
        pieces = _locate_pieces(text, [part for part in _CLAUSE_END.split(text.strip()) if part])
    return pieces if len(pieces) > 1 else []


def split_reply_pieces(text: str) -> tuple[Unit, list[TextPiece]]:
    """The words of a reply; for a long one its sentences, or groups of words if it has only one sentence."""
    by_word = split_word_pieces(text)
    if len(by_word) <= MAX_PIECES:
        return "word", by_word
    by_sentence = sentence_pieces(text)
    if len(by_sentence) > 1:
        return "sentence", group_pieces(text, by_sentence, MAX_PIECES)
    return "stretch", group_pieces(text, by_word, MAX_PIECES)


def group_pieces(text: str, pieces: Sequence[TextPiece], most: int) -> list[TextPiece]:
    """The same pieces with neighbours joined, so that there are at most ``most``."""
    size = -(-len(pieces) // most)
    groups = [pieces[i : i + size] for i in range(0, len(pieces), size)]
    return [join_pieces(text, group) for group in groups]


def join_pieces(text: str, pieces: Sequence[TextPiece]) -> TextPiece:
    """Neighbouring pieces of a text as one."""
    start, end = pieces[0].start, pieces[-1].end
    return TextPiece(text[start:end], start, end)


def remove_piece(text: str, piece: TextPiece) -> str:
    """The text without a piece of it."""
    before, after = text[: piece.start], text[piece.end :]
    if not before or before[-1].isspace():
        after = after.lstrip()
    return (before + after).strip()


def _is_dependent(text: str) -> bool:
    """Whether a piece cannot stand alone: punctuation, or a mark that belongs to the character before it."""
    return all(unicodedata.category(c)[0] == "P" for c in text) or unicodedata.category(text[0])[0] == "M"


def _locate_pieces(text: str, parts: Sequence[str]) -> list[TextPiece]:
    pieces, start = [], 0
    for part in parts:
        start = text.index(part, start)
        pieces.append(TextPiece(part, start, start + len(part)))
        start += len(part)
    return pieces
