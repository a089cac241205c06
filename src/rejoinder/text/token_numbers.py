"""The tokens of many texts as numbers in one array, which takes a fraction of the time that tuples of strings take.

White space and punctuation are found in the bytes of all texts at once. A token of at most eight bytes is read as one
integer; the few longer ones are looked up one by one. Texts in which a character alone does not tell whether a token
ends are tokenised one by one, and their tokens joined by spaces.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
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
_NUL = 0xFE  # nor this one: it stands for NUL, which would look like the end of a short token
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # multiplied by it, similar numbers differ in their highest bits


class TokenNumbers(NamedTuple):
    """The tokens of texts, one text after the other, and how many each has; equal tokens have equal numbers."""

    numbers: Numbers
    lengths: Numbers


def number_tokens(texts: Sequence[str], tokenizer: TokenizerName = "13a", lowercase: bool = True) -> TokenNumbers:
    """Return the tokens of texts: those of ``tokenize``, with a number in the place of each.

    The numbers are not negative and below some small multiple of the number of tokens.
    """
    kinds, lowercase = _KINDS[tokenizer], lowercase or tokenizer == "rouge"
    is_ascii = [*map(str.isascii, texts)]
    plain = texts if all(is_ascii) else [text if known else "" for text, known in zip(texts, is_ascii, strict=True)]
    joined, starts = _join_texts(" ".join([*plain, ""]).encode(), map(len, plain), lowercase)
    kind = joined.translate(kinds)
    is_hard = ~np.array(is_ascii, np.bool_)
    if _HARD in kind:
        is_hard[np.searchsorted(starts, np.flatnonzero(_as_array(kind) == _HARD), side="right") - 1] = True
    if is_hard.any():
        tokens_of = get_tokenizer(tokenizer, lowercase)
        spaced = [
            " ".join(tokens_of(text)).encode("utf-8", "surrogatepass") if hard else text.encode()
            for text, hard in zip(texts, is_hard.tolist(), strict=True)
        ]
        joined, starts = _join_texts(b" ".join([*spaced, b""]), map(len, spaced), lowercase)
        most = np.repeat(np.where(is_hard, np.uint8(_WORD), np.uint8(_HARD)), np.diff(starts, append=len(joined)))
        begins, ends = _token_bounds(np.minimum(_as_array(joined.translate(kinds)), most))
    else:
        begins, ends = _token_bounds(_as_array(kind))
    lengths = np.diff(np.searchsorted(begins, starts), append=len(begins))
    return TokenNumbers(_number_keys(_token_keys(joined, begins, ends)), lengths)


def _join_texts(joined: bytes, lengths: Iterable[int], lowercase: bool) -> tuple[bytes, Numbers]:
    """Return the bytes of all texts, each followed by a space, and where each text begins."""
    ends = np.cumsum(np.fromiter(lengths, np.int64) + 1)
    return joined.translate(_LOWER if lowercase else _SAME), np.concatenate([[0], ends[:-1]])[: len(ends)]


def _as_array(joined: bytes) -> _Bytes:
    return np.frombuffer(joined, np.uint8)


def _token_bounds(kind: _Bytes) -> tuple[Numbers, Numbers]:
    """Return where each token begins and ends; the last byte is a gap."""
    is_token, is_edge = kind != _GAP, kind == _MARK
    is_edge[1:] |= kind[1:] != kind[:-1]
    is_edge[:1] = True
    return np.flatnonzero(is_edge & is_token), np.flatnonzero(is_edge[1:] & is_token[:-1]) + 1


def _token_keys(joined: bytes, begins: Numbers, ends: Numbers) -> NDArray[np.uint64]:
    """Return an integer for each token: its bytes, or a number of its own if there are more than eight."""
    windows = np.ndarray((len(joined) + 1,), "<u8", joined + bytes(_WIDTH), strides=(1,))
    lengths = ends - begins
    keys: NDArray[np.uint64] = windows[begins] & _MASKS.take(lengths, mode="clip")
    long = np.flatnonzero(lengths > _WIDTH)
    if len(long):
        numbers = dict[bytes, int]()
        bounds = zip(begins[long].tolist(), ends[long].tolist(), strict=True)
        keys[long] = [_LONG | numbers.setdefault(joined[begin:end], len(numbers)) for begin, end in bounds]
    return keys


def _number_keys(keys: NDArray[np.uint64]) -> Numbers:
    """Return a number for each key: its slot in a table; those whose slot another key has are sorted and counted."""
    bits = len(keys).bit_length() + 1
    slots: Numbers = (keys * SPREAD >> np.uint64(64 - bits)).astype(np.int64)
    table = np.empty(2**bits, np.uint64)
    table[slots] = keys
    others = np.flatnonzero(table[slots] != keys)
    slots[others] = 2**bits + np.unique(keys[others], return_inverse=True)[1]
    return slots


def _byte_kinds(gaps: str, marks: str = "", hard: str = "") -> bytes:
    """Return the kind of each byte, for ``bytes.translate``."""
    kinds = dict.fromkeys(range(256), _WORD)
    for kind, signs in ((_GAP, gaps), (_MARK, marks), (_HARD, hard)):
        kinds |= dict.fromkeys(signs.encode(), kind)
    return bytes((kinds | {_NUL: kinds[0]}).values())


_ASCII = [chr(code) for code in range(128)]
_SPACES = "".join(sign for sign in _ASCII if sign.isspace())
_OTHERS = "".join(sign for sign in _ASCII if not sign.isalnum())
_SIGNS = "".join(set(string.punctuation) - set("-.,?!'"))
_SAME = bytes([_NUL, *range(1, 256)])
_LOWER = _SAME.lower()
_KINDS: dict[TokenizerName, bytes] = {
    "whitespace": _byte_kinds(gaps=_SPACES),
    "13a": _byte_kinds(gaps=_SPACES, marks=".,?!", hard=f"\n{string.digits}{_SIGNS}"),
    "words": _byte_kinds(gaps=_OTHERS, hard="'"),
    "rouge": _byte_kinds(gaps=_OTHERS),
}
