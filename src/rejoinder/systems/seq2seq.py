"""A sequence-to-sequence model as a system: it reads the context and prefers the most likely reply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.device import count_threads
from rejoinder.models.language_model.likelihood import Values
from rejoinder.models.language_model.prompt_format import Ids
from rejoinder.models.translation.model import Translator, open_translator
from rejoinder.systems._base import System
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise, minus_loss, network_batch_limits
from rejoinder.systems._model_names import find_model_folder
from rejoinder.systems._texts import score_texts, spoken_question_turns
from rejoinder.types import Question

_WINDOW = 512  # tokens on each side, if neither the network nor its tokeniser has a limit
_WHAT = "sequence-to-sequence model"


class SequenceRequest(NamedTuple):
    """The ids that the encoder reads, those that the decoder starts with, and those that are scored."""

    source: Ids
    lead: Ids
    reply: Ids


@dataclass(frozen=True)
class SequenceModel:
    """A loaded sequence-to-sequence model."""

    digest: str
    window: int  # tokens that each side reads
    network: Any
    tokenizer: Any

    def request(
        self, turns: Sequence[str], reply: str, separator: str | None, prefix: str, end: bool
    ) -> SequenceRequest:
        """Return the ids of a context and a reply; a long context loses its beginning, a long reply its end."""
        between = (self._end_mark,) if separator is None else self._encode_marked(separator)
        body: list[int] = []
        for number, turn in enumerate(turns):
            body += (*(between if number else ()), *self._encode_plain(turn))
        before, after = self._around["text"]
        before += self._encode_marked(prefix) if prefix else ()
        left = max(0, self.window - len(before) - len(after))
        source = (*before, *(body[-left:] if left else ()), *after) or (self._end_mark,)
        lead, tail = self._around["text_target"]
        ids = self._encode_plain(reply, "text_target")
        scored = ids + tail[:1] if end and ids else ids
        return SequenceRequest(source, (self._decoder_start, *lead), scored[: max(1, self.window - 1 - len(lead))])

    def log_probabilities(self, requests: Sequence[SequenceRequest]) -> list[Values]:
        """Return the natural log-probability of each id of each reply; each distinct source is encoded once."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        by_request = {request: np.empty(0) for request in requests}
        of_source: dict[Ids, list[SequenceRequest]] = {}
        for request in by_request:
            if request.reply:
                of_source.setdefault(request.source, []).append(request)
        sources, device, most = list(of_source), self.network.device, network_batch_limits(self.network)
        with torch.no_grad():
            for batch in split_into_batches([len(source) for source in sources], *most):
                together = [sources[i] for i in batch]
                ids, mask = (torch.from_numpy(values).to(device) for values in pad_token_ids(together))
                states = self.network.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
                rows = [(row, request) for row, source in enumerate(together) for request in of_source[source]]
                lengths = [ids.shape[1] + len(r.lead) + len(r.reply) for _, r in rows]
                for part in split_into_batches(lengths, *most):
                    chosen = [rows[i] for i in part]
                    own = torch.tensor([row for row, _ in chosen], device=device)
                    state: Any = BaseModelOutput(last_hidden_state=states[own])
                    by_request.update(self._score_batch([request for _, request in chosen], state, mask[own]))
        return [by_request[request] for request in requests]

    def _score_batch(
        self, requests: Sequence[SequenceRequest], state: Any, mask: Any
    ) -> Iterator[tuple[SequenceRequest, Values]]:
        import torch

        ids, _ = pad_token_ids([(*request.lead, *request.reply) for request in requests])
        decoder_ids = torch.from_numpy(ids).to(self.network.device)
        logits = self.network(
            encoder_outputs=state, attention_mask=mask, decoder_input_ids=decoder_ids[:, :-1], use_cache=False
        ).logits.float()
        chosen = logits.gather(-1, decoder_ids[:, 1:, None])[..., 0] - torch.logsumexp(logits, dim=-1)
        for request, line in zip(requests, chosen.double().cpu().numpy(), strict=True):
            first = len(request.lead) - 1
            yield request, line[first : first + len(request.reply)]

    def _encode_plain(self, text: str, side: str = "text") -> Ids:
        """Return the ids of a text, in which nothing is read as a special token."""
        readable = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
        encoding = self.tokenizer(
            **{side: readable}, add_special_tokens=False, split_special_tokens=True, verbose=False
        )
        return tuple(encoding["input_ids"])

    def _encode_marked(self, text: str) -> Ids:
        """Return the ids of a text from the user's spec, in which special tokens are allowed."""
        return tuple(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    @cached_property
    def _around(self) -> dict[str, tuple[Ids, Ids]]:
        """The special tokens that the tokeniser puts before and after a text, for each side."""
        around: dict[str, tuple[Ids, Ids]] = {}
        for side in ("text", "text_target"):
            inner, whole = self._encode_plain("a", side), tuple(self.tokenizer(**{side: "a"})["input_ids"])
            places = (n for n in range(len(whole)) if whole[n : n + len(inner)] == inner)
            place = next(places, None)
            around[side] = ((), ()) if place is None else (whole[:place], whole[place + len(inner) :])
        return around

    @property
    def _end_mark(self) -> int:
        marks = (self.tokenizer.eos_token_id, self.tokenizer.sep_token_id, self.tokenizer.pad_token_id, 0)
        return next(int(mark) for mark in marks if mark is not None)

    @property
    def _decoder_start(self) -> int:
        settings = (self.network.config, self.network.generation_config)
        marks = [getattr(one, "decoder_start_token_id", None) for one in settings]
        marks += [self.tokenizer.bos_token_id, self.tokenizer.pad_token_id, self._end_mark]
        return next(int(mark) for mark in marks if mark is not None)


def open_sequence_model(folder: str) -> SequenceModel:
    """Return the model of a folder; it is loaded once while the folder does not change."""
    try:
        translator = open_translator(folder)
    except MissingExtraError:
        raise MissingExtraError("torch", "torch", f"a {_WHAT}") from None
    except InputError as error:  # translation is only one use of such a model
        raise InputError(str(error).replace("translation model", _WHAT)) from None
    import torch

    torch.set_num_threads(count_threads())
    return SequenceModel(translator.digest, _read_window(translator), translator.network, translator.tokenizer)


def _read_window(translator: Translator) -> int:
    config = translator.network.config
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions")]
    known = [int(one) for one in (*limits, translator.tokenizer.model_max_length) if one and one < 10**6]
    return min(known, default=_WINDOW)


@dataclass(frozen=True)
class Seq2Seq(System):
    """Minus the softmax cross-entropy of each candidate, by the decoder of a transformers folder.

    ``model`` is a folder, a name of the catalog, or a model in the hub's local cache. The encoder reads ``prefix`` and
    the turns, with ``separator`` between them (by default, the model's end-of-text token). ``normalise='token'`` takes
    the mean over the tokens, ``'none'`` the sum; ``end`` counts the token that ends a reply as one of them, as the
    training loss of such models does.
    """

    model: str
    normalise: Normalise = "token"
    end: bool = True
    separator: str | None = None
    prefix: str = ""

    citation = CITATION
    decimals = 4
    alone = True  # the scores of a question do not depend on the others
    large = True

    def __post_init__(self) -> None:
        check_normalise("seq2seq", self.normalise)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate; a context that is too long for the encoder loses its beginning."""
        return score_texts(questions, self._scores) if questions else []

    def details(self) -> dict[str, str]:
        """Return the digest of the model, and how many tokens each side reads."""
        model = self._open()
        return {"digest": model.digest[:12], "window": str(model.window)}

    def _scores(self, pairs: Sequence[tuple[Question, str]]) -> list[float]:
        model = self._open()
        requests = [
            model.request(
                [turn.text for turn in spoken_question_turns(question)], text, self.separator, self.prefix, self.end
            )
            for question, text in pairs
        ]
        return [minus_loss(values, self.normalise) for values in model.log_probabilities(requests)]

    def _open(self) -> SequenceModel:
        return open_sequence_model(find_model_folder(self.model, "sequence-model"))
