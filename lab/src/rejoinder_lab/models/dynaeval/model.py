"""DynaEval (Zhang et al. 2021): the authors' checkpoint applied to a context and its reply as one dialogue.

The folder contains the graph network (``best.pt``) and the fine-tuned RoBERTa (``SRoBERTa``) that turns utterances into
vectors (docs/adapters.md). As in the released code, an utterance's vector is the mean over all positions in the batch
of its dialogue, padding included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import sha256_of_files
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.batching import pad_token_ids
from rejoinder.models.device import count_threads
from rejoinder.models.encoder.architecture import read_encoder_shape as encoder_shape
from rejoinder.models.encoder.transformers import load_tokenizer
from rejoinder.models.translation.checkpoint import (
    AUTHORS,
    checkpoint_folder,
    fill_network,
    find_checkpoint_file,
    read_checkpoint_weights,
)
from rejoinder.text.tokens import get_tokenizer as words_of
from rejoinder_lab.models.dynaeval.head import DynaEvalHead
from rejoinder_lab.models.head.model import CARD_FILE, Head, open_head

if TYPE_CHECKING:
    from rejoinder_lab.models.dynaeval.network import DynaEvalNetwork

SOURCE = "https://github.com/e0397123/DynaEval"
MAX_WORDS = 30  # of an utterance
_END_MARK = "__eou__"
_ENCODER = "SRoBERTa"
_CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|m|re|ve|ll|d))$")


def open_dynaeval(folder: str | None = None) -> DynaEvalModel | DynaEvalHead:
    """Open the model in a folder, by default the one of this package, once per process.

    A folder with a head was trained here, any other is the authors'; ``authors`` is ``<cache>/models/dynaeval``.
    """
    if folder is None or (Path(folder) / CARD_FILE).is_file():
        return _open_dynaeval_head(open_head("dynaeval", folder))
    location = checkpoint_folder("dynaeval", None if folder == AUTHORS else folder, SOURCE)
    path = find_checkpoint_file(location, ("best.pt", "output/*/best.pt"), "the checkpoint")
    model = _open_dynaeval_folder(location, path, path.stat().st_mtime_ns)
    record_use(ModelUse.of("dynaeval", "", model.digest))
    return model


@lru_cache(maxsize=2)
def _open_dynaeval_head(head: Head) -> DynaEvalHead:
    return DynaEvalHead(head)


@lru_cache(maxsize=2)
def _open_dynaeval_folder(folder: Path, path: Path, changed: int) -> DynaEvalModel:
    return DynaEvalModel(folder, path)


class DynaEvalModel:
    """The graph network and the encoder of utterances."""

    def __init__(self, folder: Path, checkpoint: Path) -> None:
        encoder = folder / _ENCODER
        config = find_checkpoint_file(encoder, ("config.json",), "the configuration of the fine-tuned RoBERTa")
        weights = find_checkpoint_file(encoder, ("model.safetensors", "pytorch_model.bin"), "the fine-tuned RoBERTa")
        shape = encoder_shape(encoder)
        self._padding = shape.padding
        self._network = _open_network(checkpoint)
        self._encoder = _open_roberta(config, weights)
        self._tokenizer = load_tokenizer(encoder, shape.max_tokens)
        tokens = sorted(p for p in encoder.iterdir() if p.suffix in (".json", ".txt") and p != config)
        self.digest = sha256_of_files([checkpoint, config, weights, *tokens])
        dimensions = int(self._encoder.config.hidden_size)
        if dimensions != self._network.narrow[0].in_features:
            raise InputError(
                f"{weights}: gives {dimensions}-dimensional vectors, but {checkpoint.name} was trained on dimension "
                f"{self._network.narrow[0].in_features}"
            )

    def scores(self, dialogues: Sequence[Sequence[str]], past: int, future: int) -> list[float]:
        """Return the score of each dialogue; two speakers are assumed to alternate."""
        import torch

        torch.set_num_threads(count_threads())
        with torch.inference_mode():
            return [self._score(dialogue, past, future) for dialogue in dialogues]

    def _score(self, dialogue: Sequence[str], past: int, future: int) -> float:
        import torch

        speakers = torch.arange(len(dialogue)) % 2
        return float(self._network(self.vectors(dialogue)[None], speakers, past, future))

    def vectors(self, dialogue: Sequence[str]) -> Any:
        """Return the vectors of a dialogue's utterances, as a tensor."""
        import torch

        ids, mask = pad_token_ids(
            self._tokenizer.ids([prepare_dynaeval_text(text) for text in dialogue]), self._padding
        )
        states = self._encoder(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        return states.last_hidden_state.mean(1)

    def cut(self, dialogues: Sequence[Sequence[str]]) -> list[bool]:
        """Return which dialogues have an utterance of more words or tokens than are read."""
        return [
            any(len(split_dynaeval_words(text)) > MAX_WORDS for text in dialogue)
            or any(self._tokenizer.truncated([prepare_dynaeval_text(text) for text in dialogue]))
            for dialogue in dialogues
        ]


def split_dynaeval_words(text: str) -> list[str]:
    """Return the lower-case words and punctuation of an utterance; the ending of a contraction is a separate word."""
    spaced = (_CONTRACTION.sub(r" \1", word).split() for word in words_of("13a")(text))
    return [word for pieces in spaced for word in pieces]


def prepare_dynaeval_text(text: str) -> str:
    """Return an utterance as the encoder reads it: its first words and the end mark."""
    return " ".join([*split_dynaeval_words(text)[:MAX_WORDS], _END_MARK])


def _open_network(checkpoint: Path) -> DynaEvalNetwork:
    weights = read_checkpoint_weights(checkpoint, "best_state")
    from rejoinder_lab.models.dynaeval.network import load_dynaeval_network

    return load_dynaeval_network(weights, checkpoint)


def _open_roberta(config: Path, path: Path) -> Any:
    """Return RoBERTa with the weights of a file, without the pooling layer, which is not used."""
    try:
        from transformers import RobertaConfig, RobertaModel
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "torch", "dynaeval") from None
    weights = {name.removeprefix("roberta."): value for name, value in read_checkpoint_weights(path).items()}
    try:
        roberta: Any = RobertaModel
        network = roberta(RobertaConfig.from_json_file(config), add_pooling_layer=False)
    except Exception as error:  # whatever is wrong with the configuration
        raise InputError(f"{config}: is not a RoBERTa configuration ({' '.join(str(error).split())})") from None
    return fill_network(network, weights, {name: name for name in network.state_dict()}, path)
