"""How fast BLEU, ROUGE-L and chrF are beside NLTK, rouge-score and sacrebleu, on dialogue of which no item is twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.synthetic import sentences
from rejoinder.metric import Metric
from rejoinder.metrics.bleu import Bleu
from rejoinder.metrics.chrf import Chrf
from rejoinder.metrics.rouge_l import RougeL
from rejoinder.text.tokens import tokenize
from rejoinder.types import Item, Pair, Reference, Response

REFERENCES = 5
_ROUNDS = 20
_FEWER = 10  # the others are given one response in so many: all of them would take minutes


class Rival(NamedTuple):
    """Another implementation: what it is handed (made before the clock starts), and the call that is timed."""

    name: str
    prepare: Callable[[Pair], Any]
    score: Callable[[Any], Any]


def measure(responses: int = 50_000) -> list[dict[str, Any]]:
    """Responses a second of CPU time on one core, five references each, texts tokenised on the way."""
    pairs = made_up(responses)
    spaced = [_spaced(pair) for pair in pairs]
    nltk, rouge_score = _nltk(), _rouge_score()
    return [
        _race(Bleu(), pairs, nltk, 14),
        _race(Bleu(tokenizer="whitespace", lowercase=False), spaced, nltk._replace(name=f"{nltk.name}, the same"), 14),
        _race(RougeL(), pairs, rouge_score, 19),
        _race(RougeL(tokenizer="rouge", aggregate="best"), pairs, rouge_score, 20),
        _race(Chrf(), pairs, _sacrebleu(), 2.5),
    ]


def made_up(responses: int) -> list[Pair]:
    """Pairs whose texts are all different."""
    texts = iter(sentences(responses * (1 + REFERENCES)))
    return [
        Pair(
            Item(str(i), (), tuple(Reference(next(texts)) for _ in range(REFERENCES))),
            Response(str(i), str(i), "s", next(texts)),
        )
        for i in range(responses)
    ]


def _race(metric: Metric, pairs: Sequence[Pair], rival: Rival, floor: float) -> dict[str, Any]:
    """One entry of the results; the two run by turns, so that a busy machine slows both."""
    ours = theirs = 0.0
    compared = 0
    size = max(1, len(pairs) // _ROUNDS)
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        begun = time.process_time()
        metric.score(part)
        ours += time.process_time() - begun
        prepared = [rival.prepare(pair) for pair in part[:: min(_FEWER, size)]]
        begun = time.process_time()
        for one in prepared:
            rival.score(one)
        theirs += time.process_time() - begun
        compared += len(prepared)
    rate, other = len(pairs) / ours, compared / theirs
    return {
        "name": f"{metric}, {len(pairs)} responses, {REFERENCES} references each, one core",
        "value": round(rate),
        "unit": "responses/s",
        "against": f"{rival.name}: {round(other)} responses/s on {compared} of them",
        "ratio": round(rate / other, 2),
        "floor": floor,
    }


def _nltk() -> Rival:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smoothing = SmoothingFunction().method1

    def prepare(pair: Pair) -> tuple[list[list[str]], list[str]]:
        return [list(tokenize(r.text)) for r in pair.item.references], list(tokenize(pair.response.text))

    return Rival(
        "nltk sentence_bleu with method1, given tokens",
        prepare,
        lambda tokens: sentence_bleu(*tokens, smoothing_function=smoothing),
    )


def _rouge_score() -> Rival:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return Rival(
        "rouge_score's score_multi of rougeL",
        lambda pair: ([r.text for r in pair.item.references], pair.response.text),
        lambda texts: scorer.score_multi(*texts),
    )


def _sacrebleu() -> Rival:
    from sacrebleu.metrics.chrf import CHRF

    scorer = CHRF()
    return Rival(
        "sacrebleu's CHRF.sentence_score",
        lambda pair: (pair.response.text, [r.text for r in pair.item.references]),
        lambda texts: scorer.sentence_score(*texts),
    )


def _spaced(pair: Pair) -> Pair:
    """The pair with its texts tokenised and joined by spaces."""
    references = tuple(Reference(" ".join(tokenize(r.text))) for r in pair.item.references)
    text = " ".join(tokenize(pair.response.text))
    return Pair(Item(pair.item.id, (), references), Response(pair.response.id, pair.item.id, "s", text))


if __name__ == "__main__":
    for entry in measure():
        print(entry)
