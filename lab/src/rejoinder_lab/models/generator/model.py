"""A trained generator: how likely replies are after a context, and replies that it generates.

Its folder contains ``generator.json`` (shape, limits, card), ``tokenizer.json`` and ``model.safetensors``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import torch
from torch import Tensor

from rejoinder.files import sha256_of, sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.batching import split_into_batches
from rejoinder.models.card import check_card_files, read_model_card, write_model_card
from rejoinder.models.device import torch_device
from rejoinder.models.tensors import read_tensors, write_tensors
from rejoinder_lab.models.generator.network import GeneratorNetwork
from rejoinder_lab.models.generator.shape import GeneratorLimits, GeneratorShape
from rejoinder_lab.models.generator.text import BEGIN, END, PADDING, TURN, UNKNOWN, TurnTokenizer

_FORBIDDEN = (PADDING, UNKNOWN, BEGIN, TURN)


@torch.no_grad()
def generate_responses(network: GeneratorNetwork, contexts: Tensor, beam: int, length: int) -> list[list[int]]:
    """Return the ids of a reply to each context, at least one token each."""
    memory = network.encode(contexts)
    return _search_greedily(network, memory, length) if beam == 1 else _search_beam(network, memory, beam, length)


def _next_log_probabilities(network: GeneratorNetwork, memory: Any, ids: Tensor) -> Tensor:
    """Return the log-probabilities of the next token; the prefix is short, so it is read again each time."""
    logits = network.logits(network.decode(memory, ids)[:, -1]).float()
    logits[:, list(_FORBIDDEN)] = -torch.inf
    if ids.shape[1] == 1:
        logits[:, END] = -torch.inf
    return logits.log_softmax(-1)


def _search_greedily(network: GeneratorNetwork, memory: Any, length: int) -> list[list[int]]:
    rows = memory.states.shape[0]
    ids = torch.full((rows, 1), BEGIN, device=memory.states.device)
    ended = torch.zeros(rows, dtype=torch.bool, device=ids.device)
    for _ in range(length):
        chosen = _next_log_probabilities(network, memory, ids).argmax(-1)
        # A row that has ended continues with its end token: padding would be masked even for itself.
        chosen = torch.where(ended, END, chosen)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        ended |= chosen == END
        if bool(ended.all()):
            break
    return [_cut_at_end(row) for row in ids[:, 1:].tolist()]


def _search_beam(network: GeneratorNetwork, memory: Any, beam: int, length: int) -> list[list[int]]:
    """Return the best of a beam by log-probability per token; a finished row stays with its score."""
    rows, device = memory.states.shape[0], memory.states.device
    wide = memory.rows(torch.arange(rows, device=device).repeat_interleave(beam))
    ids = torch.full((rows * beam, 1), BEGIN, device=device)
    totals = torch.full((rows, beam), -torch.inf, device=device)
    totals[:, 0] = 0.0
    lengths = torch.zeros(rows, beam, device=device)
    ended = torch.zeros(rows, beam, dtype=torch.bool, device=device)
    for _ in range(length):
        steps = _next_log_probabilities(network, wide, ids).view(rows, beam, -1)
        stay = torch.full_like(steps, -torch.inf)
        stay[:, :, END] = 0.0
        added = totals[:, :, None] + torch.where(ended[:, :, None], stay, steps)
        longer = (lengths + (~ended).float())[:, :, None]
        best = (added / longer).flatten(1).topk(beam, dim=1).indices
        origin, token = best // steps.shape[2], best % steps.shape[2]
        totals = added.flatten(1).gather(1, best)
        lengths = longer[:, :, 0].gather(1, origin)
        ended = ended.gather(1, origin) | (token == END)
        flat = (origin + torch.arange(rows, device=device)[:, None] * beam).flatten()
        ids = torch.cat([ids[flat], token.flatten()[:, None]], dim=1)
        if bool(ended.all()):
            break
    top = (totals / lengths).argmax(1)
    chosen = ids.view(rows, beam, -1)[torch.arange(rows, device=device), top, 1:]
    return [_cut_at_end(row) for row in chosen.tolist()]


def _cut_at_end(row: list[int]) -> list[int]:
    return row[: row.index(END)] if END in row else row


CARD_FILE, TOKENIZER, WEIGHTS = "generator.json", "tokenizer.json", "model.safetensors"
FORMAT = 1
_MAX_ROWS = 512
_MAX_TOKENS = {"cpu": 4_096, "cuda": 65_536}  # a token has a number for each entry of the vocabulary


@dataclass(frozen=True)
class GeneratorCard:
    """What determines a generator besides its weights and its vocabulary, and where it comes from."""

    shape: GeneratorShape
    limits: GeneratorLimits
    files: dict[str, str]  # name: sha256
    about: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT


@dataclass(frozen=True)
class Generator:
    """A network with its vocabulary, ready to score and to generate."""

    network: GeneratorNetwork = field(repr=False, compare=False)
    reader: TurnTokenizer = field(repr=False, compare=False)
    digest: str
    device: torch.device

    @torch.no_grad()
    def losses(
        self, contexts: Sequence[Sequence[str]], replies: Sequence[Sequence[str]], *, rows: int = _MAX_ROWS
    ) -> list[list[float]]:
        """Return the softmax cross-entropy per token of each reply to each context; the end token counts as well.

        A context is read once, however many replies it has; an empty reply is NaN.
        """
        sources = [self.reader.context(turns) for turns in contexts]
        targets = [[self.reader.reply(text) for text in texts] for texts in replies]
        results = [[math.nan] * len(texts) for texts in targets]
        room = _MAX_TOKENS[self.device.type]
        for group in split_into_batches([len(ids) for ids in sources], most_rows=rows, most_tokens=room):
            memory = self.network.encode(self._pad([sources[i] for i in group]))
            pairs = [(row, i, j) for row, i in enumerate(group) for j, ids in enumerate(targets[i]) if ids]
            lengths = [len(targets[i][j]) + 1 for _, i, j in pairs]
            for part in split_into_batches(lengths, most_rows=rows, most_tokens=room):
                batch_pairs = [pairs[n] for n in part]
                contexts_read = memory.rows(torch.tensor([row for row, _, _ in batch_pairs], device=self.device))
                ids = [targets[i][j] for _, i, j in batch_pairs]
                for (_, i, j), value in zip(batch_pairs, self._score_batch(contexts_read, ids), strict=True):
                    results[i][j] = value
        return results

    def replies(self, contexts: Sequence[Sequence[str]], *, beam: int = 1, rows: int = 128) -> list[str]:
        """Return a reply to each context, generated greedily or by beam search, independent of the batch."""
        sources = [self.reader.context(turns) for turns in contexts]
        texts_by_row = [""] * len(sources)
        room = _MAX_TOKENS[self.device.type]
        for group in split_into_batches(
            [len(ids) for ids in sources], most_rows=max(1, rows // beam), most_tokens=room
        ):
            generated = generate_responses(
                self.network, self._pad([sources[i] for i in group]), beam, self.reader.limits.reply_tokens
            )
            for i, ids in zip(group, generated, strict=True):
                texts_by_row[i] = self.reader.text(ids)
        return texts_by_row

    def _score_batch(self, memory: Any, replies: Sequence[Sequence[int]]) -> list[float]:
        before = self._pad([(BEGIN, *ids) for ids in replies])
        after = self._pad([(*ids, END) for ids in replies])
        logits = self.network.logits(self.network.decode(memory, before)).float()
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), after.flatten(), ignore_index=PADDING, reduction="none"
        ).view(after.shape)
        return (loss.double().sum(1) / (after != PADDING).sum(1)).tolist()

    def _pad(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*row, *[PADDING] * (width - len(row))] for row in rows], device=self.device)


def save_generator(
    folder: Path, network: GeneratorNetwork, tokenizer: str, limits: GeneratorLimits, about: dict[str, Any]
) -> None:
    """Write a generator into a folder; the card is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TOKENIZER).write_text(tokenizer, encoding="utf-8")
    arrays = {name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()}
    write_tensors(folder / WEIGHTS, arrays)
    files = {name: sha256_of(folder / name) for name in (TOKENIZER, WEIGHTS)}
    card = GeneratorCard(network.shape, limits, files, about)
    write_model_card(folder / CARD_FILE, card)


def read_generator_card(folder: Path) -> GeneratorCard:
    """Return the card of a folder."""
    parts = {"shape": GeneratorShape, "limits": GeneratorLimits}
    hint = "use a folder written by rejoinder train generator"
    return read_model_card(folder / CARD_FILE, GeneratorCard, "a generator", hint, parts)


def load_generator(folder: Path, device: str | None = None) -> Generator:
    """Load the generator of a folder, on a GPU if there is one."""
    card = read_generator_card(folder)
    check_card_files(folder, card.files, "train the generator again")
    target = torch.device(device or torch_device())
    network = GeneratorNetwork(card.shape, PADDING)
    network.load_state_dict({k: torch.from_numpy(v) for k, v in read_tensors(folder / WEIGHTS).items()})
    reader = TurnTokenizer((folder / TOKENIZER).read_text(encoding="utf-8"), card.limits)
    content = orjson.dumps([asdict(card.shape), asdict(card.limits), sorted(card.files.items())])
    generator = Generator(network.to(target).eval(), reader, sha256_of_bytes(content), target)
    record_use(ModelUse.of("generator", str(card.about.get("licence", "")), generator.digest))
    return generator


@lru_cache(maxsize=2)
def open_generator(folder: str) -> Generator:
    """Return the generator of a folder, loaded once per process."""
    return load_generator(Path(folder))
