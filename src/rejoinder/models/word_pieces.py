"""WordPiece (Schuster and Nakajima 2012) as BERT uses it: the same tokens as the library tokenizers, without it.

The tokeniser of all embedded networks is of this kind. A text is cleaned, decomposed, stripped of accents and
lower-cased, and split at white space, punctuation and Chinese characters; then each word is the longest pieces of the
vocabulary, from left to right. The classes of characters are those of Unicode 8, as in that library, so that a text has
the same tokens with every version of Python; ``python -m tools.word_piece_characters`` writes them.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.models.base import Side

CHARACTERS = Path(__file__).with_name("word_piece_characters.txt")
_MAX_WORDS = 2**16  # in the cache
_CHINESE = [  # ranges: the first character, and the first that is outside
    *(0x3400, 0x4DC0, 0x4E00, 0xA000, 0xF900, 0xFB00, 0x20000, 0x2A6E0),
    *(0x2A700, 0x2B820, 0x2B920, 0x2CEB0, 0x2F800, 0x2FA20),
]
# Letters that later versions of Unicode made capitals of letters that vocabularies have.
_LATER_CAPITALS = {0xA7CB: "\u0264", 0xA7DC: "\u019b"}


class LocatedToken(NamedTuple):
    """Which word of a text a token belongs to, and the characters that it covers."""

    word: int | None
    start: int
    end: int


class TokenizedText(NamedTuple):
    """The tokens of a text: ids, spelling, and which of them are special, such as [CLS]."""

    ids: list[int]
    tokens: list[str]
    is_special: list[bool]


@dataclass(frozen=True)
class Rules:
    """What a ``tokenizer.json`` of this kind says: vocabulary, how texts are normalised, which tokens surround one."""

    vocabulary: Mapping[str, int]
    unknown: str
    prefix: str  # of a piece that continues a word
    max_letters: int  # a longer word is unknown
    splits_chinese: bool
    strips_accents: bool
    is_lowercased: bool
    before: tuple[str, ...]
    after: tuple[str, ...]
    added: Mapping[str, int]  # tokens that stand for themselves in a text

    @property
    def ids(self) -> dict[str, int]:
        """The id of every token, special ones included."""
        return {**self.vocabulary, **self.added}


def read_rules(file: Any) -> Rules | None:
    """The rules of a ``tokenizer.json``; None where it is of another kind and needs the library."""
    try:
        model, normalizer = file["model"], file["normalizer"]
        kinds = (normalizer["type"], file["pre_tokenizer"]["type"], model["type"])
        if kinds != ("BertNormalizer", "BertPreTokenizer", "WordPiece") or not normalizer["clean_text"]:
            return None
        added = _read_added_tokens(file["added_tokens"])
        around = _read_template(file["post_processor"])
        if added is None or around is None:
            return None
        accents, lowercase = normalizer["strip_accents"], bool(normalizer["lowercase"])
        rules = Rules(
            vocabulary=model["vocab"],
            unknown=model["unk_token"],
            prefix=model["continuing_subword_prefix"],
            max_letters=int(model["max_input_chars_per_word"]),
            splits_chinese=bool(normalizer["handle_chinese_chars"]),
            strips_accents=lowercase if accents is None else bool(accents),
            is_lowercased=lowercase,
            before=around[0],
            after=around[1],
            added=added,
        )
    except (KeyError, TypeError, ValueError):
        return None
    is_complete = rules.unknown in rules.vocabulary and {*rules.before, *rules.after} <= rules.ids.keys()
    return rules if is_complete else None


def _read_added_tokens(rows: Sequence[Mapping[str, Any]]) -> dict[str, int] | None:
    if any(row[key] for row in rows for key in ("single_word", "lstrip", "rstrip", "normalized")):
        return None
    return {row["content"]: row["id"] for row in rows}


def _read_template(processor: Mapping[str, Any] | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The special tokens before and after a single text."""
    if processor is None:
        return (), ()
    if processor["type"] == "BertProcessing":
        return (processor["cls"][0],), (processor["sep"][0],)
    if processor["type"] != "TemplateProcessing":
        return None
    names: list[Any] = [part["SpecialToken"]["id"] if "SpecialToken" in part else None for part in processor["single"]]
    place = names.index(None)
    if names.count(None) != 1:
        return None
    return tuple(names[:place]), tuple(names[place + 1 :])


class WordPieceTokenizer:
    """A tokeniser by such rules, for texts of at most ``max_tokens`` tokens."""

    def __init__(self, rules: Rules, max_tokens: int) -> None:
        self._rules = rules
        numbers = rules.ids
        self._before, self._after = ([numbers[name] for name in side] for side in (rules.before, rules.after))
        self._most = max(0, max_tokens - len(self._before) - len(self._after))
        self._names = {number: name for name, number in numbers.items()}
        self._cache = _PieceCache(rules)
        self._clean, self._fold = _make_tables(rules)
        added = sorted(rules.added, key=len, reverse=True)
        self._added = re.compile(f"({'|'.join(map(re.escape, added))})") if added else None

    def encode(self, texts: Sequence[str], cut: Side) -> list[TokenizedText]:
        """The tokens of each text with their spelling, special tokens included."""
        result = []
        for ids in self.ids(texts, cut):
            own = len(ids) - len(self._before) - len(self._after)
            special = [*[True] * len(self._before), *[False] * own, *[True] * len(self._after)]
            result.append(TokenizedText(ids, [self._names[number] for number in ids], special))
        return result

    def ids(self, texts: Sequence[str], cut: Side) -> list[list[int]]:
        """The token ids of each text, special tokens included."""
        result = []
        for own in map(self._split_at_added_tokens, texts):
            if len(own) > self._most:
                own = own[: self._most] if cut == "right" else own[len(own) - self._most :]
            result.append([*self._before, *own, *self._after])
        return result

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's own tokens, uncut; what looks like a special token is plain text."""
        return [self._pieces(text) for text in texts]

    def locate(self, text: str) -> list[LocatedToken]:
        """Where a text's own tokens are in it, uncut."""
        normal, places = self._align(text)
        located = []
        for number, word in enumerate(re.finditer(r"\S+", normal)):
            start = word.start()
            for size in self._cache.sizes(word[0]):
                located.append(LocatedToken(number, places[start], places[start + size - 1] + 1))
                start += size
        return located

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Which of the texts are longer than the limit."""
        return [len(self._split_at_added_tokens(text)) > self._most for text in texts]

    def _split_at_added_tokens(self, text: str) -> list[int]:
        if self._added is None or not self._added.search(text):
            return self._pieces(text)
        parts = self._added.split(text)
        rows = [[self._rules.added[part]] if i % 2 else self._pieces(part) for i, part in enumerate(parts)]
        return list(chain.from_iterable(rows))

    def _pieces(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._cache.__getitem__, self._normalise(text).split())))

    def _normalise(self, text: str) -> str:
        """The text with a space at every place where words end."""
        text = text.translate(self._clean)
        if self._rules.strips_accents and not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return text.translate(self._fold)

    def _align(self, text: str) -> tuple[str, list[int]]:
        """The normalised text, and which character of the original each of its characters comes from."""
        steps: list[Callable[[str], str]] = [lambda letter: self._clean[ord(letter)]]
        if self._rules.strips_accents:
            steps.append(functools.partial(unicodedata.normalize, "NFD"))
        steps.append(lambda letter: self._fold[ord(letter)])
        places, letters = list(range(len(text))), text
        for step in steps:
            replaced = [step(letter) for letter in letters]
            places = [place for place, new in zip(places, replaced, strict=True) for _ in new]
            letters = "".join(replaced)
        return self._normalise(text), places  # which differ at most in the order of marks on the same letter


class _Translation(dict[int, str]):
    """A table for ``str.translate`` that grows by the characters that occur."""

    def __init__(self, replace: Callable[[int], str]) -> None:
        self._replace = replace

    def __missing__(self, point: int) -> str:
        text = self[point] = self._replace(point)
        return text


def _make_tables(rules: Rules) -> tuple[_Translation, _Translation]:
    """What becomes of a character before its accents are separated, and after."""
    classes = read_classes()

    def clean(point: int) -> str:
        if is_in(classes["removed"], point):
            return ""
        if chr(point).isspace():
            return " "
        return f" {chr(point)} " if rules.splits_chinese and is_in(_CHINESE, point) else chr(point)

    def fold(point: int) -> str:
        if rules.strips_accents and is_in(classes["mark"], point):
            return ""
        text = _LATER_CAPITALS.get(point, chr(point).lower()) if rules.is_lowercased else chr(point)
        return f" {text} " if is_in(classes["punctuation"], point) else text

    return _Translation(clean), _Translation(fold)


@functools.cache
def read_classes() -> dict[str, list[int]]:
    """The classes of characters: for each, where a range begins and where the next character is outside."""
    classes = {}
    for line in CHARACTERS.read_text(encoding="utf-8").splitlines():
        name, *ranges = line.split()
        ends = [[int(end, 16) for end in text.split("-")] for text in ranges]
        classes[name] = [bound for first, *last in ends for bound in (first, (last or [first])[0] + 1)]
    return classes


def is_in(bounds: Sequence[int], point: int) -> bool:
    """Whether a character is in a class."""
    return bisect_right(bounds, point) % 2 == 1


class _PieceCache(dict[str, tuple[int, ...]]):
    """The ids of the pieces of each word seen so far; emptied when it is full."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= _MAX_WORDS:
            self.clear()
        pieces = self[word] = tuple(self._rules.vocabulary[piece] for piece in self._split(word))
        return pieces

    def sizes(self, word: str) -> list[int]:
        """How many characters of a word each of its tokens covers."""
        pieces = self._split(word)
        if pieces == [self._rules.unknown]:
            return [len(word)]
        return [len(piece) - len(self._rules.prefix) * (place > 0) for place, piece in enumerate(pieces)]

    def _split(self, word: str) -> list[str]:
        vocabulary, pieces, start = self._rules.vocabulary, [], 0
        if len(word) > self._rules.max_letters:
            return [self._rules.unknown]
        while start < len(word):
            prefix = self._rules.prefix if start else ""
            for end in range(len(word), start, -1):
                if (piece := prefix + word[start:end]) in vocabulary:
                    break
            else:
                return [self._rules.unknown]
            pieces.append(piece)
            start = end
        return pieces
