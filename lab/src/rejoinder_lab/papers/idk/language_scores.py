"""NORM-PROB and FED of all rated rows by one language model: a conversation is read once for all complaints.

The numbers are those of the metrics ``norm_prob`` and ``fed``, which read it once more for each aspect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from rejoinder.files import sha256_of_bytes
from rejoinder.metric import NAN, Row
from rejoinder.metrics.norm_prob import NormProb
from rejoinder.models.language_model.likelihood import continued_log_probabilities
from rejoinder.models.language_model.model import LanguageModel, model_batch_limits
from rejoinder.models.language_model.prompt_format import context_ids
from rejoinder.scoring import compute
from rejoinder.types import Pair
from rejoinder_lab.metrics.fed import Fed, conversation_turns

_AT_ONCE = 128  # replies whose results are noted together
NORM_PROB = NormProb(per="reply")
METRICS: Mapping[str, NormProb | Fed] = {
    "NORM-PROB": NORM_PROB,
    "FED-CORRECT": Fed(aspect="correct", over="conversation"),
    "FED-RELEVANT": Fed(aspect="relevant", over="conversation"),
}


class ReplyLikelihood(NamedTuple):
    """What a language model says of one reply: log-probabilities and numbers of tokens."""

    reply: float | None
    conversation: float  # of all tokens of context and reply after the first
    conversation_tokens: int
    complaints: Mapping[str, tuple[float, int]]  # after the reply


def score_pairs_together(
    model: LanguageModel, pairs: Sequence[Pair], work: Path | None = None
) -> Mapping[str, list[float]]:
    """Return the scores of every metric for the rows of a set; ``work`` is where to note results and to go on."""
    known = dict(_read_work(work))
    by_context: dict[tuple[str, ...], dict[str, Pair]] = {}  # what shares a context is read together
    for pair in pairs:
        if (name := _digest_pair(pair)) not in known:
            by_context.setdefault(tuple(turn.text for turn in pair.item.context), {})[name] = pair
    missing = [entry for same_context in by_context.values() for entry in same_context.items()]
    for start in range(0, len(missing), _AT_ONCE):
        names, chosen = zip(*missing[start : start + _AT_ONCE], strict=True)
        results = dict(zip(names, read_replies(model, chosen), strict=True))
        _append_work(work, results)
        known.update(results)
    ordered = [known[_digest_pair(pair)] for pair in pairs]
    return {row: _score_likelihoods(metric, ordered) for row, metric in METRICS.items()}


def read_replies(model: LanguageModel, pairs: Sequence[Pair]) -> list[ReplyLikelihood]:
    """Score replies, and the complaints after each of them."""
    complaints = list(dict.fromkeys(text for fed in _feds() for text in fed.followup_texts()))
    complaint_ids = [model.reply_ids(text) for text in complaints]
    room = model.window - max(len(ids) for ids in complaint_ids)
    conversations = [context_ids(model.tokenizer, conversation_turns(pair), model.join).fit(room) for pair in pairs]
    continued = continued_log_probabilities(model.network, conversations, complaint_ids, *model_batch_limits(model))
    return [
        ReplyLikelihood(
            reply,
            float(scores.own.sum()),
            len(scores.own),
            {
                text: (float(values.sum()), len(values))
                for text, values in zip(complaints, scores.continuations, strict=True)
            },
        )
        for reply, scores in zip(NORM_PROB.statistic(pairs), continued, strict=True)
    ]


def _feds() -> list[Fed]:
    return [metric for metric in METRICS.values() if isinstance(metric, Fed)]


def _score_likelihoods(metric: NormProb | Fed, likelihoods: Sequence[ReplyLikelihood]) -> list[float]:
    if isinstance(metric, NormProb):
        rows = [Row(str(i), str(i), "", one.reply) for i, one in enumerate(likelihoods)]
        return [NAN if value is None else value for value in compute.settle_set(metric, rows)]
    texts = metric.followup_texts()
    return [
        sum(
            -(one.conversation + one.complaints[text][0]) / (one.conversation_tokens + one.complaints[text][1])
            for text in texts
        )
        / len(texts)
        for one in likelihoods
    ]


def _digest_pair(pair: Pair) -> str:
    return sha256_of_bytes(orjson.dumps([[turn.text for turn in pair.item.context], pair.response.text]))[:24]


def _read_work(path: Path | None) -> Iterator[tuple[str, ReplyLikelihood]]:
    if path is not None and path.is_file():
        for line in path.read_bytes().splitlines():
            name, reply, conversation, tokens, complaints = orjson.loads(line)
            yield name, ReplyLikelihood(reply, conversation, tokens, {k: (v[0], v[1]) for k, v in complaints.items()})


def _append_work(path: Path | None, results: Mapping[str, ReplyLikelihood]) -> None:
    if path is not None:
        with path.open("ab") as file:
            file.writelines(orjson.dumps([name, *one]) + b"\n" for name, one in results.items())
