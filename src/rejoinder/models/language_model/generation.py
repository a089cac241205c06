"""Replies written by a language model, the same for the same seed whatever else is in the batch.

transformers' ``generate`` does the decoding; the rules of ``decoding.py`` give it what it would otherwise take from the
whole batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rejoinder.models.batching import batches
from rejoinder.models.language_model.decoding import Decoding, rules
from rejoinder.models.language_model.network import fill_left
from rejoinder.models.language_model.prompt_format import Ids


def write(
    network: Any, contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int], most_rows: int, most_tokens: int
) -> list[Ids]:
    """The ids of a reply to each context: at least one token, up to and with the stop that ended it."""
    distinct = list(dict.fromkeys(contexts))
    lengths = [len(context) + decoding.max_tokens for context in distinct]
    found: dict[Ids, Ids] = {}
    for batch in batches(lengths, most_rows=most_rows, most_tokens=most_tokens):
        together = [distinct[i] for i in batch]
        found.update(zip(together, _written(network, together, decoding, stops), strict=True))
    return [found[context] for context in contexts]


def _written(network: Any, contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int]) -> list[Ids]:
    import torch
    from transformers import LogitsProcessorList

    ids, mask = fill_left(contexts, network.device)
    width = ids.shape[1]
    with torch.no_grad():
        found = network.generate(
            input_ids=ids,
            attention_mask=mask.long(),
            max_new_tokens=decoding.max_tokens,
            do_sample=False,
            eos_token_id=list(stops) or None,
            pad_token_id=0,
            logits_processor=LogitsProcessorList(rules(contexts, decoding, stops, width)),
        )
    return [_until_stop(row, set(stops)) for row in found[:, width:].tolist()]


def _until_stop(row: Sequence[int], stops: set[int]) -> Ids:
    for place, token in enumerate(row):
        if token in stops:
            return tuple(row[: place + 1])
    return tuple(row)


def end_of_text_ids(network: Any, tokenizer: Any) -> Ids:
    """The tokens that end a text: the tokeniser's, and those that the model was released with."""
    released = network.config.eos_token_id, network.generation_config.eos_token_id
    found = [tokenizer.eos_token_id]
    for ids in released:
        found += ids if isinstance(ids, list) else [ids]
    return tuple(sorted({int(token) for token in found if token is not None}))


def newline_ids(tokenizer: Any) -> Ids:
    """The tokens whose text has a line break in it."""
    texts = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    return tuple(token for token, text in enumerate(texts) if "\n" in text)
