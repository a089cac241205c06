"""Texts as token ids, cut to the length that a model can read, at the end or at the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError
from rejoinder.models.base import Side

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


_Method: TypeAlias = Literal["encode_batch", "encode_batch_fast"]  # the second without positions in the text


class LocatedToken(NamedTuple):
    """Which word of a text a token belongs to, and the characters that it covers."""

    word: int | None
    start: int
    end: int


class TextTokenizer:
    """A tokeniser with a length limit; the side on which a long text is cut is chosen at each call."""

    def __init__(self, serialized: str, max_tokens: int) -> None:
        self.serialized = serialized
        self.max_tokens = max_tokens
        self._by_side: dict[Side, Tokenizer] = {}
        self._plain: Tokenizer | None = None

    def encode(self, texts: Sequence[str], cut: Side = "right") -> list[Encoding]:
        """Return the tokens of each text with their spelling, special tokens included."""
        return self._encode_batch("encode_batch", _replace_surrogates(texts), cut)

    def ids(self, texts: Sequence[str], cut: Side = "right") -> list[list[int]]:
        """Return the token ids of each text, special tokens included."""
        return [encoding.ids for encoding in self._encode_batch("encode_batch_fast", _replace_surrogates(texts), cut)]

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's own tokens, uncut; what looks like a special token is plain text."""
        encodings = self._plain_tokenizer().encode_batch_fast(_replace_surrogates(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def locate(self, text: str) -> list[LocatedToken]:
        """Return where a text's own tokens are in it, uncut."""
        encoding = self._plain_tokenizer().encode(_replace_surrogates([text])[0], add_special_tokens=False)
        return [LocatedToken(word, *span) for word, span in zip(encoding.word_ids, encoding.offsets, strict=True)]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are longer than the limit."""
        return [
            bool(encoding.overflowing)
            for encoding in self._tokenizer_for("right").encode_batch_fast(_replace_surrogates(texts))
        ]

    def _encode_batch(self, method: _Method, texts: list[str], cut: Side) -> list[Encoding]:
        """Return the tokens of each text; only those that are too long are cut on the left, by another tokeniser."""
        encodings: list[Encoding] = getattr(self._tokenizer_for("right"), method)(texts)
        long = [i for i, encoding in enumerate(encodings) if encoding.overflowing] if cut == "left" else []
        if long:
            again = getattr(self._tokenizer_for("left"), method)([texts[i] for i in long])
            for i, encoding in zip(long, again, strict=True):
                encodings[i] = encoding
        return encodings

    def _plain_tokenizer(self) -> Tokenizer:
        if self._plain is None:
            from tokenizers import Tokenizer

            plain = Tokenizer.from_str(self.serialized)
            plain.no_padding()
            plain.no_truncation()
            plain.encode_special_tokens = True
            self._plain = plain  # only now: another thread may read it at any time
        return self._plain

    def _tokenizer_for(self, side: Side) -> Tokenizer:
        # Truncation is part of a tokeniser's state: one tokeniser per side, so that calls do not affect each other.
        if side not in self._by_side:
            from tokenizers import Tokenizer

            tokenizer: Tokenizer = Tokenizer.from_str(self.serialized)
            tokenizer.no_padding()
            tokenizer.enable_truncation(self.max_tokens, direction=side)
            self._by_side[side] = tokenizer
        return self._by_side[side]


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
    except Exception as error:  # the library raises plain exceptions
        raise InputError(f"{path}: is not a valid tokenizer.json ({error})") from None


@lru_cache(maxsize=4)
def _make_tokenizer(serialized: str, max_tokens: int) -> TextTokenizer:
    tokenizer = TextTokenizer(serialized, max_tokens)
    tokenizer.encode([""])
    return tokenizer
