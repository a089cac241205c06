"""Sentence ends: an output of a fixed number of tokens may stop mid-sentence and is continued to its next full stop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rejoinder.models.language_model.generation import DecodingSettings, end_of_text_ids, generate_ids, newline_ids
from rejoinder.models.language_model.model import LanguageModel, model_batch_limits
from rejoinder.models.language_model.prompt_format import Ids

_STOPS: dict[str, Ids] = {}  # by the model's digest: searching a vocabulary takes half a second
_END = re.compile(r"[.!?…][\"'’”)\]]*(?=\s|$)")


def ends_sentence(text: str) -> bool:
    """Whether the text ends with the end of a sentence."""
    ends = list(_END.finditer(text))
    return bool(ends) and ends[-1].end() == len(text.rstrip())


def cut_at_sentence(text: str, start: int = 0) -> str | None:
    """Return the text up to the first sentence end from ``start`` on; None if there is none."""
    match = _END.search(text, start)
    return text[: match.end()] if match else None


def decode_ids_on_one_line(model: LanguageModel, ids: Ids) -> str:
    """Return the text of token ids, on one line."""
    return " ".join(str(model.tokenizer.decode(ids, skip_special_tokens=True)).split())


def line_stop_ids(model: LanguageModel) -> Ids:
    """Return the tokens that end texts or lines."""
    if model.digest not in _STOPS:
        ids = {*end_of_text_ids(model.network, model.tokenizer), *newline_ids(model.tokenizer)}
        _STOPS[model.digest] = tuple(sorted(ids))
    return _STOPS[model.digest]


def complete_sentences(model: LanguageModel, contexts: Sequence[Ids], outputs: Sequence[Ids], extra: int) -> list[str]:
    """Return the outputs as texts; one that stops mid-sentence is continued greedily to the end of the sentence.

    If ``extra`` tokens are not enough, the text is cut at its last sentence end, if it has one.
    """
    texts = [decode_ids_on_one_line(model, ids) for ids in outputs]
    incomplete = [i for i, text in enumerate(texts) if extra and not ends_sentence(text)]
    if not incomplete:
        return texts
    prefixes = [contexts[i] + outputs[i] for i in incomplete]
    continuations = generate_ids(
        model.network, prefixes, DecodingSettings(extra), line_stop_ids(model), *model_batch_limits(model)
    )
    for i, ids in zip(incomplete, continuations, strict=True):
        continued = decode_ids_on_one_line(model, outputs[i] + ids)
        texts[i] = cut_at_sentence(continued, max(0, len(texts[i]) - 1)) or _cut_back(texts[i])
    return texts


def _cut_back(text: str) -> str:
    ends = list(_END.finditer(text))
    return text[: ends[-1].end()] if ends else text
