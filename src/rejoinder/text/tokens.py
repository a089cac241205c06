"""Texts split into tokens, by the name of a tokeniser.

- ``13a``: the tokeniser of mteval-v13a as sacrebleu implements it (Post 2018), the usual one for BLEU.
- ``whitespace``: splits at white space only, for texts that are already tokenised.
- ``words``: runs of letters and digits in any script, without punctuation; a Chinese character is a word.
- ``rouge``: runs of a-z and 0-9 in lower case, as in ROUGE-1.5.5 and the rouge-score package; ignores other scripts.

No token contains white space, so tokens joined by spaces can be split again. The caches only save time: a text has the
same tokens with or without them.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from itertools import chain
from typing import Literal, TypeAlias

TokenizerName: TypeAlias = Literal["13a", "whitespace", "words", "rouge"]
Tokens: TypeAlias = tuple[str, ...]

# The release whose scores these are; it stands in signatures, and tests compare with the installed one.
SACREBLEU = "2.6.0"
_MAX_CHUNKS = 2**16
_EASY_FOR_13A = re.compile(r"""[^0-9"#$%&()*+/:;<=>@\[\\\]^_`{|}~\n]*""")
# The steps of mteval-v13a. A match uses up its characters, so ",,," is not always three tokens.
_ENTITIES_13A = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_STEPS_13A = [
    (re.compile(r"([ -&(-+/:-@\[-`{-~])"), r" \1 "),  # signs other than ' , - .
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # a point or comma not after a digit
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),  # nor before one
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),  # a hyphen after a digit
]
_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
# Chinese and Japanese put no spaces between words: a run of katakana is usually a word, and a Chinese character or a
# hiragana is the closest thing to a word that needs no dictionary.
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
_ONE_BY_ONE = "\u3041-\u3096\u309d-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def tokenize(text: str, tokenizer: TokenizerName = "13a", lowercase: bool = True) -> Tokens:
    """Return the tokens of a text, in order."""
    return get_tokenizer(tokenizer, lowercase)(text)


@functools.cache
def get_tokenizer(name: TokenizerName, lowercase: bool = True) -> Callable[[str], Tokens]:
    """Return the function that splits a text into tokens."""
    tokens_of = _TOKENIZERS[name]
    return (lambda text: tokens_of(text.lower())) if lowercase else tokens_of


def tokenizer_details(tokenizer: TokenizerName) -> dict[str, str]:
    """Return what else determines the tokens, for a metric's signature."""
    return {"sacrebleu": SACREBLEU} if tokenizer == "13a" else {}


def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text that carry meaning on their own, in lower case.

    English function words and conversational fillers (``FUNCTION_WORDS``) are left out, also before an apostrophe
    (``I'm``, ``don't``); a possessive counts as its noun. Other languages keep all words except the few that are spelt
    like an English function word.
    """
    words = {word.removesuffix("'s") for word in get_tokenizer("words")(text)} - _ENDINGS
    return frozenset(w for w in words if w.partition("'")[0] not in FUNCTION_WORDS)


def _tokenize_whitespace(text: str) -> Tokens:
    return tuple(text.split())


def _tokenize_rouge(text: str) -> Tokens:
    return tuple(_ROUGE_TOKEN.findall(text.lower()))


def _tokenize_13a(text: str) -> Tokens:
    """Return the same tokens as sacrebleu, several times faster.

    In texts without digits and rarer signs, 13a only separates four punctuation marks. Otherwise none of its rules
    looks beyond white space, except for two that first delete text; so the tokens of a chunk can be cached, and texts
    share most chunks.
    """
    if _EASY_FOR_13A.fullmatch(text):
        spaced = text.replace(",", " , ").replace(".", " . ").replace("?", " ? ").replace("!", " ! ")
        return tuple(spaced.split())
    if "<skipped>" in text or "-\n" in text:
        return _apply_steps_13a(text.rstrip())  # sacrebleu strips too before it tokenises
    return tuple(chain.from_iterable(map(_CHUNK_CACHE.__getitem__, text.split())))


class _ChunkCache(dict[str, Tokens]):
    """The tokens of each chunk seen so far; emptied when it is full."""

    def __missing__(self, chunk: str) -> Tokens:
        if len(self) >= _MAX_CHUNKS:
            self.clear()
        pieces = self[chunk] = (chunk,) if chunk.isalnum() else _apply_steps_13a(chunk)
        return pieces


_CHUNK_CACHE = _ChunkCache()


def _apply_steps_13a(text: str) -> Tokens:
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, sign in _ENTITIES_13A.items():
        text = text.replace(entity, sign)
    text = f" {text} "
    for pattern, replacement in _STEPS_13A:
        text = pattern.sub(replacement, text)
    return tuple(text.split())


def _tokenize_words(text: str) -> Tokens:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return tuple(_word_pattern().findall(text))


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    """A word: letters and digits with the marks that belong to them, and apostrophes inside (don't)."""
    # Python does not count vowel signs and accents (Hindi, Thai, Arabic ...) as parts of words; all but a few rare ones
    # are below U+3100. The two joiners are part of the spelling of Persian and Indic words.
    marks = "".join(chr(c) for c in range(0x300, 0x3100) if unicodedata.category(chr(c)) in ("Mn", "Mc"))
    letter = rf"[^\W_{_KATAKANA}{_ONE_BY_ONE}]"
    word = rf"{letter}(?:{letter}|[{marks}\u200c\u200d])*"
    return re.compile(rf"[{_ONE_BY_ONE}]|[{_KATAKANA}]+|{word}(?:'{word})*")


_TOKENIZERS: dict[TokenizerName, Callable[[str], Tokens]] = {
    "13a": _tokenize_13a,
    "whitespace": _tokenize_whitespace,
    "words": _tokenize_words,
    "rouge": _tokenize_rouge,
}

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those some any each every either neither both all another other such same own
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one ones someone something anyone anything everyone
    everything nobody nothing none who whom whose which what when where why how whatever whoever
    am is are was were be been being have has had having do does did doing done can could will would shall should may
    might must ought cannot gonna wanna gotta let
    about above after against along among around as at before behind below between by down during for from in into of
    off on onto out over since through to toward towards under until up upon with within without
    and but or nor so yet if then than because while although though unless whether
    not no yes yeah yep nope oh ah uh um hmm well ok okay hey hi hello please thanks
    here there now just also too very really only even still again ever never always more most much many few
    don doesn didn isn aren wasn weren won wouldn shouldn couldn hasn haven hadn ain mustn needn
    """.split()
)
# What remains of I'm, don't ... in a text that was already tokenised.
_ENDINGS = frozenset("s t d m ll re ve n't".split())
