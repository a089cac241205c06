"""Texts as token ids, cut to the length that a model can read, at the end or at the beginning."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rejoinder.errors import InputError, MissingExtraError, RejoinderError
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.models.word_pieces import LocatedToken, TokenizedText, WordPieceTokenizer, read_rules

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TextTokenizer:
    """A tokeniser with a length limit; the side on which a long text is cut is chosen at each call."""

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self.serialized = serialized
        self.max_tokens = max_tokens

    def encode(self, texts: Sequence[str], cut: Side = "right") -> list[TokenizedText]:
        """Return the tokens of each text with their spelling, special tokens included."""
        return self._tokenizer.encode(_replace_surrogates(texts), cut)

    def ids(self, texts: Sequence[str], cut: Side = "right") -> list[list[int]]:
        """Return the token ids of each text, special tokens included."""
        return self._tokenizer.ids(_replace_surrogates(texts), cut)

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's own tokens, uncut; what looks like a special token is plain text."""
        return self._tokenizer.pieces(_replace_surrogates(texts))

    def locate(self, text: str) -> list[LocatedToken]:
        """Return where a text's own tokens are in it, uncut."""
        return self._tokenizer.locate(_replace_surrogates([text])[0])

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are longer than the limit."""
        return self._tokenizer.truncated(_replace_surrogates(texts))

    @functools.cached_property
    def _tokenizer(self) -> _Tokenizer:
        # By the file alone, whatever is installed: the environment changes no number.
        rules = read_rules(json.loads(self.serialized))
        if rules is None:
            return _LibraryTokenizer(self.serialized, self.max_tokens)
        return WordPieceTokenizer(rules, self.max_tokens)


class _Tokenizer(Protocol):
    """What a tokeniser does; texts have no lone surrogates."""

    def encode(self, texts: Sequence[str], cut: Side) -> list[TokenizedText]: ...

    def ids(self, texts: Sequence[str], cut: Side) -> list[list[int]]: ...

    def pieces(self, texts: Sequence[str]) -> list[list[int]]: ...

    def locate(self, text: str) -> list[LocatedToken]: ...

    def truncated(self, texts: Sequence[str]) -> list[bool]: ...


class _LibraryTokenizer:
    """Any other kind of ``tokenizer.json``, by the library tokenizers."""

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self._serialized = serialized
        self._max_tokens = max_tokens
        self._by_side: dict[Side, Tokenizer] = {}
        self._plain: Tokenizer | None = None

    def encode(self, texts: Sequence[str], cut: Side) -> list[TokenizedText]:
        return [
            TokenizedText(encoding.ids, encoding.tokens, list(map(bool, encoding.special_tokens_mask)))
            for encoding in self._tokenizer_for(cut).encode_batch(list(texts))
        ]

    def ids(self, texts: Sequence[str], cut: Side) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer_for(cut).encode_batch_fast(list(texts))]

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._plain_tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def locate(self, text: str) -> list[LocatedToken]:
        encoding = self._plain_tokenizer().encode(text, add_special_tokens=False)
        return [LocatedToken(word, *span) for word, span in zip(encoding.word_ids, encoding.offsets, strict=True)]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        encodings = self._tokenizer_for("right").encode_batch_fast(list(texts))
        return [bool(encoding.overflowing) for encoding in encodings]

    def _plain_tokenizer(self) -> Tokenizer:
        if self._plain is None:
            plain = _open_by_library(self._serialized)
            plain.no_truncation()
            plain.encode_special_tokens = True
            self._plain = plain  # only now: another thread may read it at any time
        return self._plain

    def _tokenizer_for(self, side: Side) -> Tokenizer:
        # Truncation is part of a tokeniser's state: one tokeniser per side, so that calls do not affect each other.
        if side not in self._by_side:
            tokenizer = _open_by_library(self._serialized)
            tokenizer.enable_truncation(self._max_tokens, direction=side)
            self._by_side[side] = tokenizer
        return self._by_side[side]


def _open_by_library(serialized: str) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("tokenizers", "torch", "a tokeniser of this kind") from None
    tokenizer: Tokenizer = Tokenizer.from_str(serialized)
    tokenizer.no_padding()
    return tokenizer


def _replace_surrogates(texts: Sequence[str]) -> list[str]:
    """Return the texts with lone surrogates, which the tokeniser rejects, replaced by question marks."""
    return [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]


def read_tokenizer(path: Path, max_tokens: int) -> TextTokenizer:
    """Return the tokeniser of a ``tokenizer.json``: the same one for the same file, since it takes time to make."""
    try:
        serialized = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return _make_tokenizer(serialized, max_tokens)
    except RejoinderError:
        raise
    except Exception as error:  # the library raises plain exceptions
        raise InputError(f"{path}: is not a valid tokenizer.json ({error})") from None


@functools.lru_cache(maxsize=4)
def _make_tokenizer(serialized: str, max_tokens: int) -> TextTokenizer:
    tokenizer = TextTokenizer(serialized, max_tokens)
    tokenizer.encode([""])
    return tokenizer


def separate_special_tokens(encoding: TokenizedText, vectors: Vectors) -> TokenVectors:
    """Return a text's own tokens and their vectors without padding, and the vectors of special tokens separately."""
    mask = np.array(encoding.is_special, bool)
    own, special = np.flatnonzero(~mask), np.flatnonzero(mask)
    tokens = encoding.tokens
    return TokenVectors(tuple(tokens[i] for i in own), vectors[own], vectors[special])
