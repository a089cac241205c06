"""A causal language model from a local folder: how likely replies are after a context, soft inputs, written replies.

Weights are safetensors, nothing is fetched, no remote code is run, no weight is ever changed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError, SpecError, brief
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import model_folder
from rejoinder.models.device import Device, count_threads
from rejoinder.models.language_model.folder import Precision, open_folder
from rejoinder.models.language_model.generation import Decoding, Method, end_of_text_ids, generate_ids, newline_ids
from rejoinder.models.language_model.likelihood import LikelihoodRequest, TokenScores, response_log_probabilities
from rejoinder.models.language_model.network import Reading, SoftForm, check_shape, read, soft_log_probabilities
from rejoinder.models.language_model.prompt_format import (
    ContextIds,
    Ids,
    Join,
    check_join,
    clean_text,
    context_ids,
    default_join,
    encode_text,
    end_ids,
)
from rejoinder.types import Turn

if TYPE_CHECKING:
    import torch

MAX_ROWS = 64
MAX_TOKENS = 4096  # filling and repeated contexts counted: what bounds the memory of a key-value cache
CUDA_LIMITS = (256, 16_384)  # the same on a GPU


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model; ``dataclasses.replace(model, join=...)`` is another convention on the same weights."""

    name: str
    digest: str  # of the weights, the configuration and the tokeniser
    window: int  # tokens that context and reply may have together
    join: Join
    network: Any = field(repr=False, compare=False)
    tokenizer: Any = field(repr=False, compare=False)

    def log_probabilities(
        self,
        contexts: Sequence[Sequence[Turn]],
        replies: Sequence[str],
        *,
        end: bool = False,
        most_rows: int | None = None,
        most_tokens: int | None = None,
    ) -> list[TokenScores]:
        """The scores of each reply after its context; with ``end``, the mark that ends a turn is scored as well.

        Replies to one context share its computation. ``most_rows`` and ``most_tokens`` bound what is computed at once
        and never change a number.
        """
        if len(contexts) != len(replies):
            raise InputError(
                f"there are {len(contexts)} contexts and {len(replies)} replies; each reply needs its context"
            )
        known = self._context_ids(contexts)
        last = end_ids(self.tokenizer, self.join) if end else ()
        requests, cuts = [], []
        for context, text in zip(known, replies, strict=True):
            ids = self.reply_ids(text)
            whole = ids + last if ids else ()
            reply = whole[: self.window - 1]
            fitting = context.fit(self.window - len(reply))
            requests.append(LikelihoodRequest(fitting, reply))
            cuts.append((len(context) - len(fitting), len(whole) - len(reply)))
        found = response_log_probabilities(self.network, requests, *self._room(most_rows, most_tokens))
        return [
            TokenScores(tuple(self.tokenizer.convert_ids_to_tokens(r.reply)), values, len(r.context), *cut)
            for r, values, cut in zip(requests, found, cuts, strict=True)
        ]

    def context_log_probabilities(
        self,
        contexts: Sequence[Sequence[Turn]],
        room: int = 0,
        *,
        most_rows: int | None = None,
        most_tokens: int | None = None,
    ) -> list[TokenScores]:
        """The scores of each context's own tokens, what joins its turns among them, after its first token.

        The room is for what will follow: a context that does not leave it loses its beginning.
        """
        known = self._context_ids(contexts)
        kept = [context.fit(self.window - room) for context in known]
        requests = [LikelihoodRequest(ids[:1], ids[1:]) for ids in kept]
        found = response_log_probabilities(self.network, requests, *self._room(most_rows, most_tokens))
        return [
            TokenScores(tuple(self.tokenizer.convert_ids_to_tokens(r.reply)), values, 1, len(context) - len(ids), 0)
            for r, values, context, ids in zip(requests, found, known, kept, strict=True)
        ]

    def _room(self, rows: int | None, tokens: int | None) -> tuple[int, int]:
        """How many rows and tokens are computed at once: as said, else what suits the device."""
        usual = CUDA_LIMITS if self.network.device.type == "cuda" else (MAX_ROWS, MAX_TOKENS)
        return rows or usual[0], tokens or usual[1]

    def read(self, context: Sequence[Turn], room: int = 0) -> Reading:
        """A context in a key-value cache, to be continued with soft tokens; the room is for what will follow."""
        if not 0 <= room < self.window:
            raise InputError(f"{self.name} reads {self.window} tokens, so it has no room for {room} after a context")
        return read(self.network, [self._context_ids([context])[0].fit(self.window - room)])

    def soft_log_probabilities(
        self, context: Sequence[Turn] | Reading, soft_tokens: torch.Tensor, form: SoftForm = "logits"
    ) -> torch.Tensor:
        """The log-probabilities of every token at each place, differentiable in the soft tokens.

        ``soft_tokens``: (tokens, vocabulary) or (rows, tokens, vocabulary), logits or probabilities. The result has one
        place more: the first is what the context alone says, the last what would come next. A context that is used
        again and again is best ``read`` once.
        """
        places = check_shape(soft_tokens)
        reading = context if isinstance(context, Reading) else self.read(context, places)
        if reading.mask.shape[1] + places > self.window:
            raise InputError(f"the context and {places} soft tokens are beyond the {self.window} of {self.name}")
        return soft_log_probabilities(self.network, reading, soft_tokens, form)

    def generate(
        self,
        contexts: Sequence[Sequence[Turn]],
        max_tokens: int = 40,
        *,
        method: Method = "greedy",
        temperature: float = 1.0,
        top_p: float = 1.0,
        no_repeat: int = 3,
        seed: int = 0,
        stop_at_newline: bool = True,
        most_rows: int | None = None,
        most_tokens: int | None = None,
    ) -> list[str]:
        """A reply to each context, written as ``Decoding`` says, up to the end of the turn (or of the line).

        The reply to a context depends on the context and the seed, not on the batch: the same context twice gets the
        same reply, another seed another one.
        """
        decoding = Decoding(max_tokens, method, temperature, top_p, no_repeat, seed)
        if max_tokens >= self.window:
            raise InputError(
                f"max_tokens must be below the {self.window} tokens that {self.name} reads, not {max_tokens}"
            )
        newline = stop_at_newline or self.join == "newline"
        stops = sorted({*end_of_text_ids(self.network, self.tokenizer), *(self._newlines if newline else ())})
        fitting = [context.fit(self.window - max_tokens) for context in self._context_ids(contexts)]
        written = generate_ids(self.network, fitting, decoding, stops, *self._room(most_rows, most_tokens))
        texts = [str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip() for ids in written]
        return [text.partition("\n")[0].strip() if newline else text for text in texts]

    def context_cut(self, contexts: Sequence[Sequence[Turn]], room: int) -> list[int]:
        """How many tokens each context loses at its beginning where ``room`` tokens must follow it."""
        return [max(0, len(context) + room - self.window) for context in self._context_ids(contexts)]

    def reply_ids(self, text: str) -> Ids:
        """The token ids of a reply."""
        return encode_text(self.tokenizer, clean_text(text, self.join))

    def _context_ids(self, contexts: Sequence[Sequence[Turn]]) -> list[ContextIds]:
        """The ids of each context; one that occurs many times is tokenised once."""
        found: dict[tuple[Turn, ...], ContextIds] = {}
        for context in contexts:
            if isinstance(context, str) or not all(isinstance(turn, Turn) for turn in context):
                raise InputError(f"a context is a sequence of turns, not {brief(context)}; write [Turn('...'), ...]")
            if (turns := tuple(context)) not in found:
                found[turns] = context_ids(self.tokenizer, turns, self.join)
        return [found[tuple(context)] for context in contexts]

    @functools.cached_property
    def _newlines(self) -> Ids:
        return newline_ids(self.tokenizer)

    def details(self) -> dict[str, str]:
        """What decides a number of this model, for signatures."""
        return {
            "model": self.name,
            "digest": self.digest[:12],
            "dtype": str(self.network.dtype).removeprefix("torch."),
            "join": self.join,
            "window": str(self.window),
        }


def load_language_model(
    name: str | Path,
    *,
    device: Device | None = None,
    dtype: Precision = "float32",
    join: Join | None = None,
    window: int | None = None,
) -> LanguageModel:
    """The language model of a folder or of a catalog name, such as ``smollm2-135m``.

    - ``name``: the name or the folder.
    - ``device``: ``cuda`` or ``cpu``; a GPU where there is one.
    - ``dtype``: the precision of the arithmetic.
    - ``join``: how turns become one text; the model's own convention unless given.
    - ``window``: how many tokens it reads; what its positions allow unless less is wanted.

    >>> import rejoinder
    >>> model = rejoinder.load_language_model("smollm2-135m")
    >>> model.log_probabilities([[rejoinder.Turn("Tea?")]], ["Yes, please."])[0].mean < 0
    True
    """
    opened = open_folder(_find_folder(name), device, dtype)
    if window is not None and not 2 <= window <= opened.window:
        raise InputError(f"window must be from 2 to the {opened.window} tokens that {name} reads, not {window}")
    return LanguageModel(
        name=Path(name).name,
        digest=opened.digest,
        window=window or opened.window,
        join=check_join(opened.tokenizer, join or default_join(opened.tokenizer), str(name)),
        network=opened.network,
        tokenizer=opened.tokenizer,
    )


def _find_folder(name: str | Path) -> Path:
    """The folder of the catalog's model, else the folder that is named."""
    from rejoinder.models.catalog.entries import MODELS, find_model
    from rejoinder.models.catalog.manifest import require_model

    if isinstance(name, str) and name in MODELS:
        if MODELS[name].kind != "language-model":
            raise SpecError(f"{name} is no language model: the catalog has it for {MODELS[name].purpose}")
        return require_model(name)
    if not Path(name).is_dir():
        if isinstance(name, Path) or len(Path(name).parts) > 1:
            raise InputError(f"{name}: no such folder (it was named as a language model)")
        find_model(name)  # says which names there are
    return Path(name)


def open_language_model(name: str) -> LanguageModel:
    """The language model of a folder or of a catalog's name, opened once as long as its folder does not change."""
    folder = model_folder(MODELS[name]) if name in MODELS else Path(name)
    try:
        changed = (folder / "config.json").stat().st_mtime_ns
    except OSError:
        changed = 0  # opening it will say what is wrong
    return _open(name, folder, changed)


@lru_cache(maxsize=1)  # they are large
def _open(name: str, folder: Path, changed: int) -> LanguageModel:
    model = load_language_model(name)
    import torch

    torch.set_num_threads(count_threads())
    return model
