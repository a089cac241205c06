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
from rejoinder.models.base import Vectors
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.card import join_digests
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.device import count_threads, device_batch_limits, silence_transformers, torch_device
from rejoinder.models.encoder.architecture import read_encoder_shape, weights_digest
from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder
from rejoinder.models.encoder.transformers import load_tokenizer
from rejoinder.models.spoken import Contexts
from rejoinder.models.tokenization import TextTokenizer

_SPECIAL_TOKENS = 3  # [CLS] and two [SEP]
_IS_NEXT = 0  # of the head's two classes


class PairIds(NamedTuple):
    """A pair as the head reads it: its ids, where the second text begins, and whether a text was cut."""

    ids: tuple[int, ...]
    second_at: int
    cut: bool


class BertPairs:
    """A network that reads pairs of texts, its tokeniser, the id of padding, and a digest of all that."""

    def __init__(self, network: Any, tokenizer: TextTokenizer, padding: int, digest: str) -> None:
        self.max_tokens, self.digest = tokenizer.max_tokens, digest
        self._torch: Any = __import__("torch")
        self._torch.set_num_threads(count_threads())
        self._device = torch_device()
        self._model = network.to(self._device)
        self._tokenizer, self._padding = tokenizer, padding
        self._first, self._between = find_special_ids(tokenizer, ("[CLS]", "[SEP]"))

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

    def _inputs(self, rows: Sequence[Sequence[int]], second_starts: Sequence[int]) -> dict[str, Any]:
        """Return what a BERT reads: ids, which of them are real, and which belong to the second text."""
        ids, mask = pad_token_ids(rows, self._padding)
        kinds = mask * (np.arange(mask.shape[1]) >= np.array(second_starts)[:, None])
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
        return {name: self._torch.from_numpy(array).to(self._device) for name, array in arrays.items()}

    def _split(self, lengths: Sequence[int]) -> Any:
        """Return batches for the device."""
        return split_into_batches(lengths, *device_batch_limits(self._device))


class NextSentence(BertPairs):
    """The network of a folder and its tokeniser."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(*read_pair_network(folder, "AutoModelForNextSentencePrediction", "next-sentence head"))
        self.name = name

    def probabilities(self, firsts: Sequence[str], seconds: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability that each second text follows its first."""
        pairs = self._pairs(firsts, seconds)
        distinct = list(dict.fromkeys(pairs))
        values = np.empty(len(distinct))
        for batch in self._split([len(pair.ids) for pair in distinct]):
            values[batch] = self._run([distinct[i] for i in batch])
        index = {pair: i for i, pair in enumerate(distinct)}
        return values[[index[pair] for pair in pairs]]

    def _run(self, pairs: Sequence[PairIds]) -> NDArray[np.float64]:
        inputs = self._inputs([pair.ids for pair in pairs], [pair.second_at for pair in pairs])
        with self._torch.inference_mode():
            logits = self._model(**inputs).logits
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


def read_pair_network(
    folder: Path, class_name: str, head: str, marks: Sequence[str] = ("[CLS]", "[SEP]")
) -> tuple[Any, TextTokenizer, int, str]:
    """Return the network of a transformers folder, its tokeniser, the id of padding, and their digest."""
    shape = read_encoder_shape(folder)
    network, tokenizer = _open_network(folder, class_name, head), load_tokenizer(folder, shape.max_tokens)
    try:
        find_special_ids(tokenizer, marks)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    tokens = sha256_of_bytes(tokenizer.serialized.encode())
    return network, tokenizer, shape.padding, join_digests(weights_digest(folder), tokens, shape.max_tokens)


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


def find_special_ids(tokenizer: TextTokenizer, marks: Sequence[str]) -> list[int]:
    """Return the ids of special tokens; raise where the tokeniser lacks one."""
    from tokenizers import Tokenizer

    known = Tokenizer.from_str(tokenizer.serialized)
    ids = [known.token_to_id(mark) for mark in marks]
    if None in ids:
        raise InputError(f"a tokeniser lacks {marks[ids.index(None)]}, which a model that reads pairs needs")
    return [token_id for token_id in ids if token_id is not None]


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
        for batch in self._split([len(pair.ids) for pair in pairs]):
            inputs = self._inputs([pairs[i].ids for i in batch], [pairs[i].second_at for i in batch])
            with self._torch.inference_mode():
                output = self._model.base_model(**inputs)
            vectors[[known[i] for i in batch]] = output.pooler_output.float().cpu().numpy()
        return vectors

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        return self.truncated([_join_turns(context) for context in contexts], replies)


def _join_turns(context: Sequence[str]) -> str:
    return " ".join(text for text in context if text.strip())
