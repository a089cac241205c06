"""A ranker on any transformers encoder (BERT, RoBERTa, DeBERTa ...), which scores by the first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.cross_encoder import PairRow
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.card import write_model_card
from rejoinder.models.device import device_batch_limits, silence_transformers, torch_device
from rejoinder.models.encoder.factory import find_encoder_folder
from rejoinder.models.encoder.transformers import load_tokenizer, open_network
from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.card import RankerCard
from rejoinder.models.ranker.settings import RankerLimits

_SPECIAL_TOKENS = (("[CLS]", "[SEP]", "[PAD]"), ("<s>", "</s>", "<pad>"))


class HubReader(nn.Module):
    """An encoder and one layer on its first token (SUGAR, section 4.1)."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = nn.Linear(int(trunk.config.hidden_size), 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the score of each pair."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if getattr(self.trunk.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = token_type_ids
        scores: Tensor = self.head(self.trunk(**inputs).last_hidden_state[:, 0])
        return scores.squeeze(-1)


def open_hub_reader(name: str) -> tuple[HubReader, str]:
    """Open a model by name (``hf:NAME``, a folder, or from the catalog) with a new layer on top, and its tokeniser."""
    folder, mark = find_encoder_folder(name)
    if mark != cards.CONFIG:
        raise InputError(f"the encoder {name!r} is an exported graph; use one that torch can train, e.g. hf:minilm")
    return HubReader(open_network(folder)), load_tokenizer(folder, RankerLimits().row_tokens).serialized


def find_special_tokens(tokenizer: str) -> SpecialTokens:
    """Return the ids of the tokens with which this tokeniser begins, separates, ends and pads a row."""
    from tokenizers import Tokenizer

    reader = Tokenizer.from_str(tokenizer)
    special = {token.content for token in reader.get_added_tokens_decoder().values() if token.special}
    # MPNet has BERT's marks among its words, where nothing has trained them, so its own special tokens come first.
    for names in sorted(_SPECIAL_TOKENS, key=lambda names: not special.issuperset(names)):
        first, last, filler = (reader.token_to_id(name) for name in names)
        if first is not None and last is not None and filler is not None:
            return SpecialTokens(first, last, last, filler)
    raise InputError("the encoder's tokeniser has neither [CLS], [SEP] and [PAD] nor <s>, </s> and <pad>")


def fit_limits(reader: HubReader, limits: RankerLimits) -> RankerLimits:
    """Return the limits, with rows no longer than the encoder's positions."""
    positions = int(getattr(reader.trunk.config, "max_position_embeddings", 512)) - 2
    row = min(limits.row_tokens, positions)
    half = (row - 3) // 2  # so that a request and a candidate always fit
    return replace(
        limits,
        row_tokens=row,
        request_tokens=min(limits.request_tokens, half),
        candidate_tokens=min(limits.candidate_tokens, half),
    )


def save_hub_ranker(reader: HubReader, tokenizer: str, card: RankerCard, target: Path) -> RankerCard:
    """Write a ranker that needs torch; the files' digests are added to the card."""
    from safetensors.torch import save_file

    target.mkdir(parents=True, exist_ok=True)
    (target / cards.CARD_FILE).unlink(missing_ok=True)
    state = {name: values.detach().cpu().clone().contiguous() for name, values in reader.state_dict().items()}
    save_file(state, target / cards.WEIGHTS)
    (target / cards.TOKENIZER).write_text(tokenizer, encoding="utf-8", newline="")
    reader.trunk.config.to_json_file(target / cards.CONFIG, use_diff=False)
    names = (cards.WEIGHTS, cards.TOKENIZER, cards.CONFIG)
    card = replace(card, files={**card.files, **{name: sha256_of(target / name) for name in names}})
    write_model_card(target / cards.CARD_FILE, card)
    return card


class TorchReader:
    """The reader of a folder that ``save_hub_ranker`` wrote."""

    def __init__(self, folder: Path, card: RankerCard) -> None:
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoModel

        network_class: Any = AutoModel
        with silence_transformers():
            trunk = network_class.from_config(AutoConfig.from_pretrained(folder))
        weights = load_file(folder / cards.WEIGHTS)
        if not any(name.startswith("trunk.pooler.") for name in weights):
            trunk.pooler = None  # an encoder without one was trained without one
        self._network = HubReader(trunk)
        self._network.load_state_dict(weights)
        self._device = torch_device()
        self._network.eval().to(self._device)
        self._padding = card.marks.padding

    def scores(self, rows: Sequence[PairRow]) -> Numbers:
        """Return the score of each candidate; equal rows are computed once."""
        index = {row: i for i, row in enumerate(dict.fromkeys(rows))}
        distinct = list(index)
        values = np.empty(len(distinct))
        for batch in split_into_batches([len(row.ids) for row in distinct], *device_batch_limits(self._device)):
            tokens, mask = pad_token_ids([distinct[i].ids for i in batch], self._padding)
            reply_starts = np.array([distinct[i].reply_at for i in batch])
            segments = mask * (np.arange(mask.shape[1]) >= reply_starts[:, None])
            with torch.no_grad():
                inputs = (torch.from_numpy(part).to(self._device) for part in (tokens, mask, segments))
                values[batch] = self._network(*inputs).cpu().numpy()
        return values[[index[row] for row in rows]]
