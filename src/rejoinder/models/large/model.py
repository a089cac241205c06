"""``aptness(model='large')``: a language model with an adapter, as a scorer of replies.

The adapter is merged into the base when that is read: in float32 on a CPU, in bfloat16 on a GPU. All replies to one
context are computed together; a reply has the same score alone, whatever stands beside it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.engines.long_work import current_long_work
from rejoinder.errors import InputError, MissingExtraError, RejoinderError
from rejoinder.files import sha256_of
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.batching import split_into_batches
from rejoinder.models.catalog.entries import find_model
from rejoinder.models.catalog.manifest import is_model_available, model_folder
from rejoinder.models.device import Device, count_threads, torch_device
from rejoinder.models.large.adapter import Adapter, read_large_adapter
from rejoinder.models.large.card import CARD_FILE, LargeCard, read_large_card
from rejoinder.models.large.gguf_file import GgufFile
from rejoinder.models.large.memory import check_memory
from rejoinder.models.large.prompt import Ids, PromptFormat, PromptSequence
from rejoinder.models.spoken import Contexts, fill_known, select_spoken
from rejoinder.models.weight_sets import LARGE, WeightsMissingError, find_set

if TYPE_CHECKING:
    import torch

    from rejoinder.models.large.network import Qwen2Network

Numbers = NDArray[np.float64]
NAME = "aptness(model='large')"
MODEL = "aptness"  # its folder in the set of weights
_MODULES = ("torch", "gguf", "tokenizers")
# Sequences and tokens, with padding, that are computed at once. On a CPU more of them gain nothing.
_BATCH_LIMITS: dict[Device, tuple[int, int]] = {"cpu": (8, 1024), "cuda": (256, 32_768)}


class BaseMissingError(RejoinderError):
    """The language model that an adapter belongs to, where it is not in the cache."""


def open_large(folder: str | Path | None = None) -> LargeModel:
    """Open the adapter in a folder, by default that of the installed set; its base is read when first needed."""
    location = Path(folder) if folder is not None else _installed_folder()
    for module in _MODULES:
        if find_spec(module) is None:
            raise MissingExtraError(module, "torch", NAME)
    try:
        changed = (location / CARD_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0  # reading the card will report what is wrong
    model = _open_large_folder(location, changed, torch_device())
    base = find_model(model.card.base.name)
    if not is_model_available(base):
        raise BaseMissingError(
            f"{NAME} reads with the model {base.name!r}, which is missing; get it ({base.size / 1e9:.1f} GB) with: "
            f"rejoinder models get {base.name}"
        )
    record_use(ModelUse.of("aptness", model.card.licence, model.digest, LARGE if folder is None else None))
    record_use(ModelUse.of(base.name, base.licence, model.card.base.sha256))
    return model


def _installed_folder() -> Path:
    root = find_set(LARGE)
    if root is None or not (root / MODEL).is_dir():
        raise WeightsMissingError(
            f"{NAME} needs an adapter; install the distribution rejoinder-{LARGE} (docs/aptness.md says whether it is "
            "published), or name a folder of your own with the parameter folder"
        )
    return root / MODEL


@lru_cache(maxsize=1)  # they are large
def _open_large_folder(folder: Path, changed: int, device: Device) -> LargeModel:
    return LargeModel(folder, device)


class _Prompts(NamedTuple):
    """The sequences of some pairs, and which pairs have a text that is too long."""

    sequences: list[PromptSequence]
    is_cut: list[bool]


class LargeModel:
    """An adapter and its base, which is read when a score is first needed."""

    def __init__(self, folder: Path, device: Device = "cpu") -> None:
        self.folder = folder
        self.device: Device = device
        self.card: LargeCard = read_large_card(folder)
        self.digest = self.card.digest()
        # A GPU computes much faster in half precision, and scores differ by about .01: the signature says which it was.
        self.precision = "bfloat16" if device == "cuda" else "float32"

    def probabilities(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the probability that each reply is the true one; NaN for a blank context or reply."""
        calibration = self.card.calibration
        total = calibration.slope * self.log_odds(contexts, replies) + calibration.intercept
        result: Numbers = 1 / (1 + np.exp(-np.clip(total, -60, 60)))
        return result

    def log_odds(self, contexts: Contexts, replies: Sequence[str]) -> Numbers:
        """Return the head's value for each reply; NaN for a blank context or reply."""
        known, contexts, replies = select_spoken(contexts, replies)
        values = np.full(len(replies), np.nan)
        if len(replies):
            distinct: dict[tuple[tuple[str, ...], str], int] = {}
            numbers = [
                distinct.setdefault((tuple(context), reply), len(distinct))
                for context, reply in zip(contexts, replies, strict=True)
            ]
            pairs = list(distinct)
            read = self._prompts([list(context) for context, _ in pairs], [reply for _, reply in pairs])
            values = self._compute(read.sequences, len(pairs))[numbers]
        return fill_known(known, values)

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs have a context that loses turns, or a reply that loses its end."""
        known, contexts, replies = select_spoken(contexts, replies)
        is_cut = iter(self._prompts(contexts, replies).is_cut)
        return [next(is_cut) if is_known else False for is_known in known]

    def _prompts(self, contexts: Contexts, replies: Sequence[str]) -> _Prompts:
        """Return the sequences of pairs; replies to equal contexts share theirs."""
        texts = list(dict.fromkeys([*(text for context in contexts for text in context), *replies]))
        ids = dict(zip(texts, self._tokenizer.encode_turns(texts), strict=True))
        groups: dict[tuple[str, ...], list[tuple[int, Ids]]] = {}
        is_cut = []
        for number, (context, text) in enumerate(zip(contexts, replies, strict=True)):
            reply, loses_end = self._format.reply(ids[text])
            groups.setdefault(tuple(context), []).append((number, reply))
            is_cut.append(loses_end)
        sequences: list[PromptSequence] = []
        for turns, group in groups.items():
            context_ids, loses_turns = self._format.context([ids[turn] for turn in turns])
            sequences += self._format.sequences(context_ids, group)
            for number, _ in group:
                is_cut[number] |= loses_turns
        return _Prompts(sequences, is_cut)

    def _compute(self, sequences: Sequence[PromptSequence], n: int) -> Numbers:
        """Return the head's value for each of ``n`` replies; on a CPU it is said how long that takes."""
        network, head, bias = self._network  # read before the clock starts
        work, start = current_long_work(n), time.perf_counter()
        values, done, tokens = np.full(n, np.nan), 0, 0
        all_tokens = sum(map(len, sequences))
        lengths = [len(sequence) for sequence in sequences]
        for batch in split_into_batches(lengths, *_BATCH_LIMITS[self.device]):
            for sequence, row in _read_batch(network, head, [sequences[i] for i in batch]):
                values[list(sequence.numbers)] = row + bias
                done, tokens = done + len(row), tokens + len(sequence)
            if self.device == "cpu":
                work.report(NAME, done, tokens / all_tokens, n, time.perf_counter() - start)
        return values

    @cached_property
    def _file(self) -> GgufFile:
        base = self.card.base
        folder = model_folder(find_model(base.name))
        path = next(iter(sorted(folder.glob("*.gguf"))), None)
        if path is None:
            raise InputError(f"{folder}: has no GGUF file; get it again with: rejoinder models get {base.name}")
        if (digest := sha256_of(path)) != base.sha256:
            raise InputError(
                f"{path}: is not the base of the adapter in {self.folder} (sha256 {digest[:12]}…, not "
                f"{base.sha256[:12]}…); get it again with: rejoinder models get {base.name}"
            )
        return GgufFile(path)

    @cached_property
    def _tokenizer(self) -> Any:
        return self._file.tokenizer()

    @cached_property
    def _format(self) -> PromptFormat:
        return PromptFormat(self._tokenizer, self.card.limits)

    @cached_property
    def _network(self) -> tuple[Qwen2Network, torch.Tensor, float]:
        """The network with the adapter merged into it, and the head."""
        import torch

        check_memory(NAME, self._file.weights, self.device)
        torch.set_num_threads(count_threads())
        adapter = read_large_adapter(self.folder, self.card)
        precision = torch.bfloat16 if self.device == "cuda" else torch.float32
        network = load_network(self._file, adapter, self.device, precision)
        return network, torch.from_numpy(adapter.head).to(self.device), adapter.bias


def load_network(file: GgufFile, adapter: Adapter | None, device: str, precision: torch.dtype) -> Qwen2Network:
    """Return the network of a GGUF file, with an adapter merged into it or without (as training begins)."""
    import torch

    from rejoinder.models.large.network import Qwen2Network

    parts = {} if adapter is None else dict(adapter.parts)
    with torch.device("meta"):  # without memory: the weights of the file take the places of these
        network = Qwen2Network(file.shape)
    weights = {}
    for name, values in file.read_weights():
        layer = name.removesuffix(".weight")
        if f"{layer}.b" in parts:
            # Before the weight is rounded to half precision, in which a small addition to it could be lost.
            values = values + parts.pop(f"{layer}.b") @ parts.pop(f"{layer}.a")
        weights[name] = torch.from_numpy(values).to(device, precision)
    if parts:
        raise InputError(
            f"{len(parts)} matrices of the adapter (such as {min(parts)}) belong to no layer of {file.path}"
        )
    try:
        network.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file.path}: does not have the weights of its network ({reason})") from None
    return network.requires_grad_(False).eval()


def _read_batch(
    network: Qwen2Network, head: torch.Tensor, sequences: Sequence[PromptSequence]
) -> Iterator[tuple[PromptSequence, NDArray[np.float32]]]:
    """Yield the head's values for the replies of each sequence; shorter ones are padded at the end."""
    import torch

    from rejoinder.models.large.network import PADDING

    def pad(rows: list[list[int]], filler: int) -> torch.Tensor:
        width = max(map(len, rows))
        return torch.tensor([[*row, *[filler] * (width - len(row))] for row in rows], device=head.device)

    with torch.inference_mode():
        vectors = network(
            pad([s.ids for s in sequences], 0),
            pad([s.positions for s in sequences], 0),
            pad([s.segments for s in sequences], PADDING),
        )
        for row, sequence in enumerate(sequences):
            values = vectors[row, sequence.ends].float() @ head
            yield sequence, values.cpu().numpy()
