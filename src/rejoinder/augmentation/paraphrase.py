"""Paraphrases of references, the baseline that SCARCE is compared with: five per reference, by one of three methods.

- ``rewording``: synonyms, other word orders, contractions; needs nothing beyond the package.
- ``prompted``: a language model is asked to say it in other words.
- ``back_translation``: into another language and back (Sennrich et al. 2016; Xie et al. 2020), by two models.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rejoinder import spec as specs
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.substitution import SynonymReplacement, apply_replacements, find_replacements
from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.models.encoder.centred import load_centred_encoder
from rejoinder.spec import check_choice
from rejoinder.text.english.contractions import toggle_contractions
from rejoinder.text.english.markers import replace_marker
from rejoinder.text.english.word_order import reorder_text
from rejoinder.types import Turn

_REWORDING_TRIES = 12  # tries for each paraphrase that is wanted: short texts have few
_WORDS_PER_REPLACEMENT = 8  # one more word is replaced for each so many words of a text


@dataclass(frozen=True)
class Rewording:
    """Words replaced by synonyms, clauses reordered, contractions expanded or formed.

    A text with too few such paraphrases also gets another opening ("Well, ..."). ``similarity`` is the lowest cosine,
    by ``encoder``, allowed between the words around a word and the same words with its synonym.
    """

    similarity: float = 0.9
    encoder: str = "aptness"
    seed: int = 0

    def __post_init__(self) -> None:
        if not -1 <= self.similarity <= 1:
            raise SpecError(f"rewording: similarity must be from -1 to 1, not {self.similarity}")

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Return up to ``count`` different paraphrases per text; a short text may have fewer, or none."""
        replacements = find_replacements(texts, self.similarity, self.encoder)
        return [self._paraphrase(text, options, count) for text, options in zip(texts, replacements, strict=True)]

    def _paraphrase(self, text: str, options: Sequence[SynonymReplacement], count: int) -> list[str]:
        paraphrases: dict[str, None] = {}
        for number in range(2 * count * _REWORDING_TRIES):
            rng = random.Random(f"{self.seed}/{number}/{text}")
            other = _reword(rng, text, options)
            if number >= count * _REWORDING_TRIES and text.strip():  # too few so far
                other = replace_marker(rng, other)
            if other.split() != text.split():
                paraphrases[other] = None
            if len(paraphrases) == count:
                break
        return list(paraphrases)


def _reword(rng: random.Random, text: str, options: Sequence[SynonymReplacement]) -> str:
    """Return one paraphrase; words are replaced first, since their places are those in the original text."""
    by_place: dict[int, list[SynonymReplacement]] = {}
    for one in options:
        by_place.setdefault(one.start, []).append(one)
    most = min(len(by_place), 1 + len(text.split()) // _WORDS_PER_REPLACEMENT)
    places = rng.sample(sorted(by_place), rng.randint(min(1, most), most))
    other = apply_replacements(text, [rng.choice(by_place[place]) for place in places])
    if rng.random() < 0.5:
        other = reorder_text(rng, other)
    return toggle_contractions(other) if rng.random() < 0.5 else other


SOURCE = "paraphrase"
COUNT = 5  # per reference (SCARCE, section 3)
_QUOTED = re.compile(r"[\"“](?P<inside>.+)[\"”]")
_TRIES = 2  # rounds of sampling for each paraphrase that is wanted


class Paraphraser(Protocol):
    """A method that writes paraphrases."""

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Return up to ``count`` different paraphrases of each text, without the text itself."""
        ...


@dataclass(frozen=True)
class Prompted:
    """A chat model that is asked to say a text in other words, once per paraphrase; needs torch."""

    model: str = "smollm2-135m"
    temperature: float = 0.9
    top_p: float = 0.9
    seed: int = 0

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Return up to ``count`` samples per text, without empty ones, repetitions and those three times as long."""
        from rejoinder.models.language_model.model import open_language_model

        model = open_language_model(self.model)
        samples_by_text: list[dict[str, None]] = [{} for _ in texts]
        for number in range(count * _TRIES):
            lacking = [i for i, samples in enumerate(samples_by_text) if len(samples) < count and texts[i].strip()]
            if not lacking:
                break
            prompts = [[Turn(f"Say the same in other words, in one line: {texts[i]}", "user")] for i in lacking]
            longest = max(len(model.reply_ids(texts[i])) for i in lacking)
            outputs = model.generate(
                prompts,
                2 * longest + 10,
                method="sample",
                temperature=self.temperature,
                top_p=self.top_p,
                seed=self.seed * 1_000 + number,
            )
            for i, text in zip(lacking, map(_strip_quotes, outputs), strict=True):
                if _is_another(text, texts[i]):
                    samples_by_text[i].setdefault(text)
        return [list(samples) for samples in samples_by_text]


@dataclass(frozen=True)
class BackTranslation:
    """A text translated by the model ``there`` and back by the model ``back``, both sampled; needs torch.

    A model is a folder, a name in the hub's local cache, or a direction of the catalog's ``opus-mt-fr``. The
    temperature is the default of Xie et al. (2020). A round trip may change what a text says: one whose cosine to the
    text, by ``encoder``, is below ``similarity`` is left out. With the ``precision`` ``int8`` the models' weights are
    rounded to 8 bits, row by row.
    """

    there: str = "opus-mt-fr/en-fr"
    back: str = "opus-mt-fr/fr-en"
    temperature: float = 0.9
    seed: int = 0
    similarity: float = 0.6
    encoder: str = "aptness"
    precision: Literal["float32", "int8"] = "float32"

    def __post_init__(self) -> None:
        check_choice("back_translation", "precision", self.precision, Literal["float32", "int8"])

    def write(self, texts: Sequence[str], count: int) -> list[list[str]]:
        """Return up to ``count`` round trips per text, without those equal to the text or to each other."""
        from rejoinder.models.translation.model import open_translator

        there, back = (open_translator(name, self.precision) for name in (self.there, self.back))
        samples_by_text: list[dict[str, None]] = [{} for _ in texts]
        for number in range(count * _TRIES):
            lacking = [i for i, samples in enumerate(samples_by_text) if len(samples) < count and texts[i].strip()]
            if not lacking:
                break
            seed = self.seed * 1_000 + number
            translations = there.translate([texts[i] for i in lacking], self.temperature, seed)
            texts_back = back.translate(translations, self.temperature, seed)
            for i, text in self._same_meaning(texts, list(zip(lacking, texts_back, strict=True))):
                if _is_another(text, texts[i]):
                    samples_by_text[i].setdefault(text)
        return [list(samples) for samples in samples_by_text]

    def _same_meaning(self, texts: Sequence[str], trips: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """Return the round trips that say the same as their text, each with the number of the text."""
        if self.similarity <= -1:
            return list(trips)
        vectors = load_centred_encoder(self.encoder).encode([text for i, other in trips for text in (texts[i], other)])
        cosines = (vectors[::2] * vectors[1::2]).sum(axis=1)
        return [trip for trip, cosine in zip(trips, cosines, strict=True) if cosine >= self.similarity]


METHODS: dict[str, type[Paraphraser]] = {
    "rewording": Rewording,
    "prompted": Prompted,
    "back_translation": BackTranslation,
}


def parse_paraphraser(text: str) -> Paraphraser:
    """Return the method of a spec, such as ``rewording`` or ``back_translation(there='en-fr/', back='fr-en/')``."""
    spec = specs.parse_spec(text, "method of paraphrasing")
    if spec.name not in METHODS:
        raise SpecError(f"there is no method of paraphrasing {spec.name!r}; {nearest(spec.name, METHODS)}")
    return specs.construct(METHODS[spec.name], spec)


def paraphrase(
    texts: Sequence[str], method: str | Paraphraser = "rewording", count: int = COUNT
) -> list[list[Proposal]]:
    """Return paraphrases of each text, with the text as their origin; a short text may have few, or none.

    - ``texts``: the texts to paraphrase.
    - ``method``: ``rewording``, or the spec of another method.
    - ``count``: the largest number of paraphrases per text.

    >>> import rejoinder
    >>> proposals = rejoinder.paraphrase(["You're right. I will start a new job."], count=2)[0]
    >>> [proposal.source for proposal in proposals]
    ['paraphrase', 'paraphrase']
    """
    if count < 1:
        raise InputError(f"count must be at least 1, not {count}")
    writer = parse_paraphraser(method) if isinstance(method, str) else method
    distinct = list(dict.fromkeys(texts))
    written = dict(zip(distinct, writer.write(distinct, count), strict=True))
    return [[Proposal(other, SOURCE, origin=text) for other in written[text]] for text in texts]


def _is_another(text: str, original: str) -> bool:
    words = [part.lower().split() for part in (text, original)]
    return words[0] not in ([], words[1]) and len(words[0]) <= 3 * len(words[1]) + 3


def _strip_quotes(text: str) -> str:
    """Return the words in quotes if there are any, without what a model says around them; else the text."""
    match = _QUOTED.search(text)
    return (match["inside"] if match else text).strip()
