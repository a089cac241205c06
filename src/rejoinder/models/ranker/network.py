"""The networks of a ranker as torch modules: one reads candidates, the other chooses the statements that matter.

The *reader* is the cross-encoder of `aptness`, trained further: it reads statements, request and candidate together.
The *chooser* reads the request and all statements once, however many candidates there are, and gives each statement the
log-odds that it matters to the request. Both also accept words as vectors, so that their graphs contain no word
embeddings.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.models.aptness.network import CrossEncoder, masked_mean


class ChooserNetwork(nn.Module):
    """The log-odds of each statement, from the vectors of its words, of the request's, and their product."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        dimensions = int(trunk.config.hidden_size)
        self.gather = nn.Linear(3 * dimensions, dimensions)
        self.head = nn.Linear(dimensions, 1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """Map (rows, tokens) and the spans of request and statements (rows, 1 + statements, tokens) to log-odds."""
        words = self.trunk.embeddings.word_embeddings(input_ids)
        return self.of_words(words, attention_mask, places)

    def of_words(self, words: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """Return (rows, statements) log-odds from word vectors."""
        states = self.trunk(inputs_embeds=words, attention_mask=attention_mask).last_hidden_state
        means = places.to(states.dtype) @ states
        request, statements = means[:, :1].expand_as(means[:, 1:]), means[:, 1:]
        gathered = torch.tanh(self.gather(torch.cat([statements, request, statements * request], dim=-1)))
        odds: Tensor = self.head(gathered)
        return odds.squeeze(-1)


class WordReader(nn.Module):
    """A cross-encoder whose input is word vectors."""

    def __init__(self, reader: CrossEncoder) -> None:
        super().__init__()
        self.reader = reader

    def forward(self, words: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the log-odds of each pair."""
        states = self.reader.trunk(
            inputs_embeds=words, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        context = masked_mean(states, attention_mask * (1 - token_type_ids))
        reply = masked_mean(states, attention_mask * token_type_ids)
        gathered = self.reader.gather(torch.cat([states[:, 0], context, reply, context * reply], dim=-1))
        odds: Tensor = self.reader.head(torch.tanh(gathered))
        return odds.squeeze(-1)


class WordChooser(nn.Module):
    """A chooser whose input is word vectors."""

    def __init__(self, chooser: ChooserNetwork) -> None:
        super().__init__()
        self.chooser = chooser

    def forward(self, words: Tensor, attention_mask: Tensor, places: Tensor) -> Tensor:
        """Return the log-odds of each statement."""
        return self.chooser.of_words(words, attention_mask, places)


def copy_first_layers(trunk: Any, layers: int) -> Any:
    """Return a copy of a BERT with only its first layers."""
    duplicate = copy.deepcopy(trunk)
    duplicate.encoder.layer = duplicate.encoder.layer[:layers]
    duplicate.config.num_hidden_layers = layers
    return duplicate
