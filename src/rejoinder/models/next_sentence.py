"""A pretrained next-sentence head (Devlin et al. 2019): the probability that one text follows another.

The folder is a transformers folder with such a head (``BertForNextSentencePrediction``); the pair is read as
``[CLS] first [SEP] second [SEP]`` in float32, on the GPU if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import UNKNOWN_LICENCE, ModelUse, record_use
from rejoinder.models.aptness.model import Contexts
from rejoinder.models.base import Vectors
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.card import join_digests
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.device import count_threads, device_batch_limits, silence_transformers, torch_device
from rejoinder.models.encoder.architecture import read_encoder_shape, weights_digest
from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder
from rejoinder.models.encoder.transformers import load_tokenizer

_SPECIAL_TOKENS = 3  # [CLS] and two [SEP]
_IS_NEXT = 0  # of the head's two classes


class PairIds(NamedTuple):
    """A pair as the head reads it: its ids, where the second text begins, and whether a text was cut."""

    ids: tuple[int, ...]
    second_at: int
    cut: bool


class NextSentence:
    """The network of a folder and its tokeniser."""

    network_class = "AutoModelForNextSentencePrediction"  # of transformers
    head = "next-sentence head"  # its name in messages

    def __init__(self, folder: Path, name: str) -> None:
        shape = read_encoder_shape(folder)
        self.name, self.max_tokens = name, shape.max_tokens
        self._padding = shape.padding
        self._model = _open_network(folder, self.network_class, self.head)
        self._torch: Any = __import__("torch")
        self._torch.set_num_threads(count_threads())
        self._model.to(torch_device())
        self._tokenizer = load_tokenizer(folder, shape.max_tokens)
        self._first, self._between = _special_ids(self._tokenizer.serialized, folder)
        tokens = sha256_of_bytes(self._tokenizer.serialized.encode())
        self.digest = join_digests(weights_digest(folder), tokens, shape.max_tokens)

    def probabilities(self, firsts: Sequence[str], seconds: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that each second text follows its first."""
        pairs = self._pairs(firsts, seconds)
        distinct = list(dict.fromkeys(pairs))
        values = np.empty(len(distinct))
        for batch in split_into_batches(
            [len(pair.ids) for pair in distinct], *device_batch_limits(self._model.device.type)
        ):
            values[batch] = self._run([distinct[i] for i in batch])
        index = {pair: i for i, pair in enumerate(distinct)}
        return values[[index[pair] for pair in pairs]]

    def truncated(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        return [pair.cut for pair in self._pairs(firsts, seconds)]

    def _pairs(self, firsts: Sequence[str], seconds: Sequence[str]) -> list[PairIds]:
        texts = list(dict.fromkeys([*firsts, *seconds]))
        ids = dict(zip(texts, self._tokenizer.pieces(texts), strict=True))
        return [self._join(ids[first], ids[second]) for first, second in zip(firsts, seconds, strict=True)]

    def _join(self, first: Sequence[int], second: Sequence[int]) -> PairIds:
        """Join two texts: the first loses its beginning, the second its end, but each keeps up to half of the room."""
        room = self.max_tokens - _SPECIAL_TOKENS
        after = second[: max(room // 2, room - len(first))]
        before = first[max(0, len(first) - (room - len(after))) :]
        ids = (self._first, *before, self._between, *after, self._between)
        return PairIds(ids, len(before) + 2, len(before) + len(after) < len(first) + len(second))

    def _run(self, pairs: Sequence[PairIds]) -> NDArray[np.float64]:
        torch, device = self._torch, self._model.device
        ids, mask = pad_token_ids([pair.ids for pair in pairs], self._padding)
        second_starts = np.array([pair.second_at for pair in pairs])
        segments = mask * (np.arange(mask.shape[1]) >= second_starts[:, None])
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        with torch.inference_mode():
            logits = self._model(**{k: torch.from_numpy(v).to(device) for k, v in inputs.items()}).logits
        probabilities: NDArray[np.float64] = logits.double().softmax(dim=-1)[:, _IS_NEXT].cpu().numpy()
        return probabilities


def open_next_sentence(folder: Path, name: str) -> NextSentence:
    """Open the head in a folder, once per process unless the folder changes."""
    model = _open_next_sentence_folder(folder, name, (folder / "config.json").stat().st_mtime_ns)
    record_use(ModelUse.of(name, find_licence(name), model.digest))
    return model


def find_licence(name: str) -> str:
    """Return the licence of a model of the catalog; that of another is not known."""
    plain = name.removeprefix(HUB_PREFIX)
    return MODELS[plain].licence if plain in MODELS else UNKNOWN_LICENCE


@lru_cache(maxsize=2)
def _open_next_sentence_folder(folder: Path, name: str, changed: int) -> NextSentence:
    return NextSentence(folder, name)


def _open_network(folder: Path, class_name: str, head: str) -> Any:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the {head} in {folder}") from None
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"{folder}: has no *.safetensors; weights in other files (pickles) are not opened")
    network_class: Any = getattr(transformers, class_name)
    safe = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    try:
        with silence_transformers():
            network, loading_info = network_class.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **safe
            )
    except Exception as error:  # the library raises many classes of errors
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder}: cannot be opened as a {head} by transformers ({reason})") from None
    if missing := sorted(loading_info["missing_keys"]):  # transformers would continue with random numbers
        raise InputError(
            f"{folder}: has no complete {head} ({missing[0]} is missing); use a model that was saved with "
            "one, such as bert-base-uncased"
        )
    return network.eval()


def _special_ids(serialized: str, folder: Path) -> tuple[int, int]:
    """Return the ids of the tokens that begin a pair and that end each text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(serialized)
    first, between = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    if first is None or between is None:
        raise InputError(f"{folder}: its tokeniser lacks [CLS] or [SEP], which a next-sentence head needs")
    return first, between


def open_next_sentence_encoder(name: str) -> NextSentencePairEncoder:
    """Open a BERT from the catalog or a folder as an encoder of pairs, once per process unless the folder changes."""
    folder, mark = find_encoder_folder(HUB_PREFIX + name.removeprefix(HUB_PREFIX))
    encoder = _open_pairs(name, folder, (folder / mark).stat().st_mtime_ns)
    record_use(ModelUse.of(name, encoder.licence, encoder.digest))
    return encoder


@lru_cache(maxsize=1)
def _open_pairs(name: str, folder: Path, changed: int) -> NextSentencePairEncoder:
    return NextSentencePairEncoder(folder, name)


class NextSentencePairEncoder(NextSentence):
    """A frozen BERT with its pooling layer, as a pair encoder; turns are joined by spaces, as in the paper."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder, name)
        self.licence = find_licence(name)
        self.dimensions = int(self._model.config.hidden_size)
        self.digest = join_digests("pooled", self.digest)

    def features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """Return one vector per pair, in order; a row of NaN if the context or the reply is blank."""
        texts = [_join_turns(context) for context in contexts]
        known = [i for i, text in enumerate(texts) if text and replies[i].strip()]
        pairs = self._pairs([texts[i] for i in known], [replies[i] for i in known])
        vectors = np.full((len(texts), self.dimensions), np.nan, np.float32)
        torch, device = self._torch, self._model.device
        for batch in split_into_batches([len(pair.ids) for pair in pairs], *device_batch_limits(device.type)):
            ids, mask = pad_token_ids([pairs[i].ids for i in batch], self._padding)
            second_starts = np.array([pairs[i].second_at for i in batch])
            segments = mask * (np.arange(mask.shape[1]) >= second_starts[:, None])
            inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
            with torch.inference_mode():
                output = self._model.base_model(**{k: torch.from_numpy(v).to(device) for k, v in inputs.items()})
            vectors[[known[i] for i in batch]] = output.pooler_output.float().cpu().numpy()
        return vectors

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        return self.truncated([_join_turns(context) for context in contexts], replies)


def _join_turns(context: Sequence[str]) -> str:
    return " ".join(text for text in context if text.strip())
