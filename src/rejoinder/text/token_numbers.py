"""The tokens of many texts as numbers in one array, which takes a fraction of the time that tuples of strings take.

White space and punctuation are found in the bytes of all texts at once. A token of at most eight bytes is read as one
integer; the few longer ones are looked up one by one. Texts in which a character does not tell by itself whether a token
ends are tokenised one by one, and their tokens joined by spaces.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.text.tokens import TokenizerName, get_tokenizer

Numbers: TypeAlias = NDArray[np.int64]
_Bytes: TypeAlias = NDArray[np.uint8]

_GAP, _WORD, _MARK, _HARD = range(4)  # of a byte: between tokens, part of one, a token by itself, or it depends
_WIDTH = 8
_MASKS = np.array([2 ** (8 * n) - 1 for n in range(_WIDTH + 1)], np.uint64)
_LONG = 0xFF << 56  # UTF-8 has no such byte
_NUL = b"\xfe"  # nor this one: it stands for NUL, which would look like the end of a short token


class TokenNumbers(NamedTuple):
    """The tokens of texts, one text after the other, and how many each has; equal tokens have equal numbers from 0."""

    numbers: Numbers
    lengths: Numbers


def number_tokens(texts: Sequence[str], tokenizer: TokenizerName = "13a", lowercase: bool = True) -> TokenNumbers:
    """Return the tokens of texts: those of ``tokenize``, with a number in the place of each."""
    if not texts:
        return TokenNumbers(np.zeros(0, np.int64), np.zeros(0, np.int64))
    kinds, tokens_of = _KINDS[tokenizer], get_tokenizer(tokenizer, lowercase)
    lowercase = lowercase or tokenizer == "rouge"
    encoded = [text.encode() if text.isascii() else b"" for text in texts]
    raw, starts = _join(encoded, lowercase)
    kind = kinds[raw]
    is_hard = np.array([not text.isascii() for text in texts]) | (np.maximum.reduceat(kind, starts) == _HARD)
    if is_hard.any():
        for i in np.flatnonzero(is_hard).tolist():
            encoded[i] = " ".join(tokens_of(texts[i])).encode("utf-8", "surrogatepass")
        raw, starts = _join(encoded, lowercase)
        most = np.where(is_hard, np.uint8(_WORD), np.uint8(_HARD))
        kind = np.minimum(kinds[raw], np.repeat(most, np.diff(starts, append=len(raw))))
    begins, ends = _token_bounds(kind)
    firsts = np.searchsorted(begins, starts)
    return TokenNumbers(_number_keys(_token_keys(raw, begins, ends)), np.diff(firsts, append=len(begins)))


def _join(encoded: Sequence[bytes], lowercase: bool) -> tuple[_Bytes, Numbers]:
    """Return the bytes of all texts, each followed by a space, and where each text begins."""
    joined = b" ".join([*encoded, b""]).replace(b"\0", _NUL)
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded)) + 1
    return np.frombuffer(joined.lower() if lowercase else joined, np.uint8), np.cumsum(lengths) - lengths


def _token_bounds(kind: _Bytes) -> tuple[Numbers, Numbers]:
    """Return where each token begins and ends; the last byte is a gap."""
    changes = kind[1:] != kind[:-1]
    is_mark = kind == _MARK
    begin = is_mark | (kind == _WORD)
    end = begin.copy()
    begin[1:] &= changes | is_mark[1:]
    end[:-1] &= changes | is_mark[:-1]
    return np.flatnonzero(begin), np.flatnonzero(end) + 1


def _token_keys(raw: _Bytes, begins: Numbers, ends: Numbers) -> NDArray[np.uint64]:
    """Return an integer for each token: its bytes, or a number of its own if there are more than eight."""
    padded = np.concatenate([raw, np.zeros(_WIDTH, np.uint8)])
    windows = np.ndarray((len(raw) + 1,), "<u8", padded, strides=(1,))
    lengths = ends - begins
    keys = windows[begins] & _MASKS[np.minimum(lengths, _WIDTH)]
    long = np.flatnonzero(lengths > _WIDTH)
    if len(long):
        data, numbers = raw.tobytes(), dict[bytes, int]()
        bounds = zip(begins[long].tolist(), ends[long].tolist(), strict=True)
        keys[long] = [_LONG | numbers.setdefault(data[begin:end], len(numbers)) for begin, end in bounds]
    return keys


def _number_keys(keys: NDArray[np.uint64]) -> Numbers:
    order = np.argsort(keys)
    ordered = keys[order]
    is_new = np.ones(len(keys), np.int64)
    is_new[1:] = ordered[1:] != ordered[:-1]
    numbers = np.empty(len(keys), np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    return numbers


def _byte_kinds(**kinds: str) -> _Bytes:
    table = np.full(256, _WORD, np.uint8)
    for kind, characters in kinds.items():
        table[list(characters.encode())] = {"gaps": _GAP, "marks": _MARK, "hard": _HARD}[kind]
    table[_NUL[0]] = table[0]
    return table


_ASCII = [chr(code) for code in range(128)]
_SPACES = "".join(sign for sign in _ASCII if sign.isspace())
_OTHERS = "".join(sign for sign in _ASCII if not sign.isalnum())
_SIGNS = "".join(set(string.punctuation) - set("-.,?!'"))
_KINDS: dict[TokenizerName, _Bytes] = {
    "whitespace": _byte_kinds(gaps=_SPACES),
    "13a": _byte_kinds(gaps=_SPACES, marks=".,?!", hard=f"\n{string.digits}{_SIGNS}"),
    "words": _byte_kinds(gaps=_OTHERS, hard="'"),
    "rouge": _byte_kinds(gaps=_OTHERS),
}
