"""The tokeniser of a GGUF file of Qwen2: byte-level byte-pair encoding with the file's own vocabulary and merges."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.errors import MissingExtraError

# As in the tokenizer.json that Qwen2 was released with (Yang et al. 2024): words with one character before them,
# single digits, runs of punctuation, and white space.
_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class LargeTokenizer:
    """Turns plain texts into token ids; a special token's name inside a text is read as plain text."""

    def __init__(self, vocabulary: Sequence[str], merges: Sequence[str]) -> None:
        try:
            from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
        except ImportError as error:
            raise MissingExtraError(error.name or "tokenizers", "torch", "aptness(model='large')") from None
        ids = {token: number for number, token in enumerate(vocabulary)}
        pairs = [(first, second) for first, _, second in (merge.partition(" ") for merge in merges)]
        self._tokenizer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
        self._tokenizer.normalizer = normalizers.NFC()
        self._tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_PATTERN), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text; nothing is added."""
        # Lone surrogates, which tokenisers reject, become question marks.
        readable = [text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(readable, add_special_tokens=False)]

    def encode_turns(self, turns: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each turn as it follows a letter: without space around it, and one space before."""
        return self.encode([f" {turn.strip()}" for turn in turns])
