"""A causal language model from a local folder: likelihood of replies after a context, soft inputs, generated replies.

Weights are safetensors; nothing is downloaded, no remote code is run, and no weight ever changes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError, SpecError, brief
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import model_folder
from rejoinder.models.device import Device, count_threads
from rejoinder.models.language_model.folder import Precision, open_language_model_folder
from rejoinder.models.language_model.generation import (
    DecodingSettings,
    Method,
    end_of_text_ids,
    generate_ids,
    newline_ids,
)
from rejoinder.models.language_model.likelihood import LikelihoodRequest, TokenScores, response_log_probabilities
from rejoinder.models.language_model.network import (
    NetworkReading,
    SoftForm,
    check_soft_tokens,
    read_token_rows,
    soft_log_probabilities,
)
from rejoinder.models.language_model.prompt_format import (
    ContextIds,
    Ids,
    Join,
    check_join,
    clean_turn_text,
    context_ids,
    default_join,
    encode_text,
    turn_end_ids,
)
from rejoinder.types import Turn

if TYPE_CHECKING:
    import torch

MAX_ROWS = 64
MAX_TOKENS = 4096  # including padding and repeated contexts: this limits the memory of the key-value cache
CUDA_LIMITS = (256, 16_384)  # the same on a GPU


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model; ``dataclasses.replace(model, join=...)`` is another convention on the same weights."""

    name: str
    digest: str  # of the weights, the configuration and the tokeniser
    window: int  # maximum tokens of context and reply together
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
        """Return the scores of each reply after its context; with ``end``, the token that ends a turn is scored too.

        Replies to one context share its computation. ``most_rows`` and ``most_tokens`` limit what is computed at once
        and never change a score.
        """
        if len(contexts) != len(replies):
            raise InputError(
                f"there are {len(contexts)} contexts and {len(replies)} replies; each reply needs its context"
            )
        all_context_ids = self._context_ids(contexts)
        turn_end = turn_end_ids(self.tokenizer, self.join) if end else ()
        requests, cuts = [], []
        for context, text in zip(all_context_ids, replies, strict=True):
            ids = self.reply_ids(text)
            whole = ids + turn_end if ids else ()
            reply = whole[: self.window - 1]
            fitting = context.fit(self.window - len(reply))
            requests.append(LikelihoodRequest(fitting, reply))
            cuts.append((len(context) - len(fitting), len(whole) - len(reply)))
        results = response_log_probabilities(self.network, requests, *self._room(most_rows, most_tokens))
        return [
            TokenScores(tuple(self.tokenizer.convert_ids_to_tokens(r.reply)), values, len(r.context), *cut)
            for r, values, cut in zip(requests, results, cuts, strict=True)
        ]

    def context_log_probabilities(
        self,
        contexts: Sequence[Sequence[Turn]],
        room: int = 0,
        *,
        most_rows: int | None = None,
        most_tokens: int | None = None,
    ) -> list[TokenScores]:
        """Return the scores of each context's own tokens after the first, including the tokens that join its turns.

        ``room`` is reserved for what will follow: a context that is too long for it loses its beginning.
        """
        all_context_ids = self._context_ids(contexts)
        fitted = [context.fit(self.window - room) for context in all_context_ids]
        requests = [LikelihoodRequest(ids[:1], ids[1:]) for ids in fitted]
        results = response_log_probabilities(self.network, requests, *self._room(most_rows, most_tokens))
        return [
            TokenScores(tuple(self.tokenizer.convert_ids_to_tokens(r.reply)), values, 1, len(context) - len(ids), 0)
            for r, values, context, ids in zip(requests, results, all_context_ids, fitted, strict=True)
        ]

    def _room(self, rows: int | None, tokens: int | None) -> tuple[int, int]:
        """Return how many rows and tokens are computed at once: as given, or by default what suits the device."""
        defaults = CUDA_LIMITS if self.network.device.type == "cuda" else (MAX_ROWS, MAX_TOKENS)
        return rows or defaults[0], tokens or defaults[1]

    def read(self, context: Sequence[Turn], room: int = 0) -> NetworkReading:
        """Read a context into a key-value cache, to be continued with soft tokens; ``room`` is reserved for those."""
        if not 0 <= room < self.window:
            raise InputError(f"{self.name} reads {self.window} tokens, so it has no room for {room} after a context")
        return read_token_rows(self.network, [self._context_ids([context])[0].fit(self.window - room)])

    def soft_log_probabilities(
        self, context: Sequence[Turn] | NetworkReading, soft_tokens: torch.Tensor, form: SoftForm = "logits"
    ) -> torch.Tensor:
        """Return the log-probabilities of every token at each position, differentiable with respect to the soft tokens.

        ``soft_tokens``: (tokens, vocabulary) or (rows, tokens, vocabulary), logits or probabilities. The result has one
        more position: the first is predicted from the context alone, the last is what would come next. ``read`` a
        context once if it is used repeatedly.
        """
        positions = check_soft_tokens(soft_tokens)
        reading = context if isinstance(context, NetworkReading) else self.read(context, positions)
        if reading.mask.shape[1] + positions > self.window:
            raise InputError(f"the context and {positions} soft tokens exceed the {self.window} tokens of {self.name}")
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
        """Generate a reply to each context as ``Decoding`` says, up to the end of the turn (or of the line).

        A reply depends on the context and the seed, not on the batch: the same context twice gets the same reply,
        another seed gives another one.
        """
        decoding = DecodingSettings(max_tokens, method, temperature, top_p, no_repeat, seed)
        if max_tokens >= self.window:
            raise InputError(
                f"max_tokens must be below the {self.window} tokens that {self.name} reads, not {max_tokens}"
            )
        ends_at_newline = stop_at_newline or self.join == "newline"
        stops = sorted({*end_of_text_ids(self.network, self.tokenizer), *(self._newlines if ends_at_newline else ())})
        fitted = [context.fit(self.window - max_tokens) for context in self._context_ids(contexts)]
        generated = generate_ids(self.network, fitted, decoding, stops, *self._room(most_rows, most_tokens))
        texts = [str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip() for ids in generated]
        return [text.partition("\n")[0].strip() if ends_at_newline else text for text in texts]

    def context_cut(self, contexts: Sequence[Sequence[Turn]], room: int) -> list[int]:
        """Return how many tokens are cut from the beginning of each context if ``room`` tokens must follow it."""
        return [max(0, len(context) + room - self.window) for context in self._context_ids(contexts)]

    def reply_ids(self, text: str) -> Ids:
        """Return the token ids of a reply."""
        return encode_text(self.tokenizer, clean_turn_text(text, self.join))

    def _context_ids(self, contexts: Sequence[Sequence[Turn]]) -> list[ContextIds]:
        """Return the ids of each context; one that occurs many times is tokenised once."""
        ids_by_context: dict[tuple[Turn, ...], ContextIds] = {}
        for context in contexts:
            if isinstance(context, str) or not all(isinstance(turn, Turn) for turn in context):
                raise InputError(f"a context must be a list of turns, not {brief(context)}; write [Turn('...'), ...]")
            if (turns := tuple(context)) not in ids_by_context:
                ids_by_context[turns] = context_ids(self.tokenizer, turns, self.join)
        return [ids_by_context[tuple(context)] for context in contexts]

    @functools.cached_property
    def _newlines(self) -> Ids:
        return newline_ids(self.tokenizer)

    def details(self) -> dict[str, str]:
        """Return what determines this model's scores, for signatures."""
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
    """Load a language model from a folder or by its name in the catalog, such as ``smollm2-135m``.

    - ``name``: the name or the folder.
    - ``device``: ``cuda`` or ``cpu``; by default a GPU if there is one.
    - ``dtype``: the precision of the arithmetic.
    - ``join``: how turns become one text; by default the model's own convention.
    - ``window``: how many tokens it reads; by default as many as it has positions.

    >>> import rejoinder
    >>> model = rejoinder.models.load_language_model("smollm2-135m")
    >>> model.log_probabilities([[rejoinder.Turn("Tea?")]], ["Yes, please."])[0].mean < 0
    True
    """
    model_folder = open_language_model_folder(_find_folder(name), device, dtype)
    record_use(describe_language_model(str(name), model_folder.digest))
    if window is not None and not 2 <= window <= model_folder.window:
        raise InputError(f"window must be from 2 to the {model_folder.window} tokens that {name} reads, not {window}")
    return LanguageModel(
        name=Path(name).name,
        digest=model_folder.digest,
        window=window or model_folder.window,
        join=check_join(model_folder.tokenizer, join or default_join(model_folder.tokenizer), str(name)),
        network=model_folder.network,
        tokenizer=model_folder.tokenizer,
    )


def _find_folder(name: str | Path) -> Path:
    """Return the folder of a model in the catalog, or the given folder."""
    from rejoinder.models.catalog.entries import MODELS, find_model
    from rejoinder.models.catalog.manifest import require_model

    if isinstance(name, str) and name in MODELS:
        if MODELS[name].kind != "language-model":
            raise SpecError(f"{name!r} is of kind {MODELS[name].kind}, not a language model")
        return require_model(name)
    if not Path(name).is_dir():
        if isinstance(name, Path) or len(Path(name).parts) > 1:
            raise InputError(f"{name}: no such folder; a language model is a folder or a name in the catalog")
        find_model(name)  # raises with a list of names
    return Path(name)


def open_language_model(name: str) -> LanguageModel:
    """Open a language model from a folder or the catalog, once unless its folder changes."""
    folder = model_folder(MODELS[name]) if name in MODELS else Path(name)
    try:
        changed = (folder / "config.json").stat().st_mtime_ns
    except OSError:
        changed = 0  # opening it will report what is wrong
    model = _open_language_model_once(name, folder, changed)
    record_use(describe_language_model(name, model.digest))
    return model


def describe_language_model(name: str, digest: str) -> ModelUse:
    """Return the name, the licence and the digest of a language model from the catalog or a folder."""
    return ModelUse.of(Path(name).name, MODELS[name].licence if name in MODELS else "", digest)


@lru_cache(maxsize=1)  # they are large
def _open_language_model_once(name: str, folder: Path, changed: int) -> LanguageModel:
    model = load_language_model(name)
    import torch

    torch.set_num_threads(count_threads())
    return model


def model_batch_limits(model: LanguageModel) -> tuple[int, int]:
    """Return how many rows and tokens at once suit the model's device."""
    return CUDA_LIMITS if model.network.device.type == "cuda" else (MAX_ROWS, MAX_TOKENS)
