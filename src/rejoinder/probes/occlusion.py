"""Explanation by occlusion (Zeiler and Fergus 2014): the score without a part shows what the part contributes.

All variants of the context and of the reply are scored in one call of the metric, equal variants once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.data.collection import Collection, from_lists
from rejoinder.data.inputs import read
from rejoinder.errors import InputError, SpecError, nearest
from rejoinder.metric import NAN, Metric, SetMetric, parse, signature
from rejoinder.probes.explanation import ContextPart, Explanation, ReplySpan
from rejoinder.probes.segments import (
    MAX_PIECES,
    TextPiece,
    Unit,
    group_pieces,
    join_pieces,
    remove_piece,
    split_reply_pieces,
    split_sentence_or_clause_pieces,
)
from rejoinder.scoring import compute
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.flags import describe_languages
from rejoinder.text.language import looks_english
from rejoinder.types import Pair, Turn

MAX_TURNS = 20  # earlier ones are left out together
MAX_PARTS = 12  # of one utterance
CUT_TURNS = 2  # the last ones are split into sentences or clauses
_NEIGHBOURS = (2, 3)
_UNITS = {
    "sentence": f"The reply has more than {MAX_PIECES} words: it is explained by sentence.",
    "stretch": f"The reply has more than {MAX_PIECES} words and one sentence: it is explained by groups of words.",
}


def make_pair(context: Sequence[str], reply: str, references: Sequence[str] = ()) -> Pair:
    """An item and a response from plain texts, with the oldest turn of the context first."""
    data = from_lists([reply], [list(context)], [list(references)], system="reply")
    return next(data.pairs())


def explain(
    data: Collection | Pair | str | Path | None = None,
    response: str | None = None,
    *,
    metric: Metric | str = "aptness",
    context: Sequence[str] = (),
    reply: str | None = None,
    references: Sequence[str] = (),
) -> Explanation:
    """What each part of the context and each word of a reply contributes to its score.

    - ``data``: the file, collection or pair with the reply; leave it out if you give ``reply``.
    - ``response``: the id of the reply, where there are several.
    - ``metric``: the metric to explain, by its spec or itself.
    - ``context``: the utterances before ``reply``, oldest first.
    - ``reply``: the reply itself, where no data is given.
    - ``references``: good replies to the same context, for metrics that need references.

    >>> import rejoinder
    >>> found = rejoinder.explain(context=["Any milk left?"], reply="No milk today.", metric="context_overlap")
    >>> [span.text for span in found.earning()], [span.text for span in found.costly()]
    (['milk'], ['today.'])
    """
    if (data is None) == (reply is None):
        raise InputError("give either data with the reply, or the reply itself with its context")
    if data is None:
        return explain_pair(metric, make_pair([text for text in context if text.strip()], reply or "", references))
    return explain_pair(metric, data if isinstance(data, Pair) else find_pair(data, response))


def find_pair(data: Collection | str | Path, response: str | None = None) -> Pair:
    """The reply with this id in a file or collection, or its only reply."""
    name = "the collection" if isinstance(data, Collection) else str(data)
    collection = data if isinstance(data, Collection) else read(data, allow_empty=True)
    if not collection.responses:
        raise InputError(f"{name}: has no responses to explain; use a file that has some")
    if response is None:
        response = next(iter(collection.responses))
        if len(collection.responses) > 1:
            raise InputError(
                f"{name}: has {len(collection.responses):,} responses; choose one by its id, e.g. {response!r}"
            )
    if response not in collection.responses:
        raise InputError(f"{name}: no response is called {response!r}; {nearest(response, collection.responses)}")
    return collection.pair(response)


def explain_pair(metric: Metric | str, pair: Pair) -> Explanation:
    """What each part of the context and each word of the reply contributes to its score under a metric."""
    metric = parse(metric) if isinstance(metric, str) else metric
    _check_metric(metric, pair)
    variants = _OcclusionVariants(pair)
    unit, pieces = split_reply_pieces(pair.response.text)
    whole = variants.add(pair.item.context, pair.response.text)
    parts = list(_context_variants(pair.item.context, variants)) if "context" in metric.needs else []
    spans = [(piece, variants.add(pair.item.context, remove_piece(pair.response.text, piece))) for piece in pieces]
    neighbours = [
        (piece, variants.add(pair.item.context, remove_piece(pair.response.text, piece)))
        for piece in (_neighbouring_pieces(pair.response.text, pieces) if unit == "word" else ())
    ]
    values = score_pairs(metric, variants.pairs).tolist()
    score, sign = values[whole], -1 if metric.higher_is_better is False else 1

    def span(piece: TextPiece, place: int) -> ReplySpan:
        return ReplySpan(piece.start, piece.end, piece.text, values[place], sign * (score - values[place]))

    return Explanation(
        str(metric),
        signature(metric, (reference.source for reference in pair.item.references)),
        pair.response.id,
        pair.response.system,
        pair.response.text,
        score,
        metric.higher_is_better,
        tuple(
            replace(
                part,
                without=values[without_index],
                alone=values[alone_index],
                share=sign * (score - values[without_index]),
            )
            for part, without_index, alone_index in parts
        ),
        unit,
        tuple(span(*one) for one in spans),
        tuple(span(*one) for one in neighbours),
        tuple(_explanation_notes(metric, pair, unit, len(pieces))),
    )


class _OcclusionVariants:
    """Variants of a pair with another context or reply, each of them once."""

    def __init__(self, pair: Pair) -> None:
        self.pairs: list[Pair] = []
        self._pair = pair
        self._places: dict[tuple[tuple[Turn, ...], str], int] = {}

    def add(self, context: tuple[Turn, ...], reply: str) -> int:
        """The index of a variant among the pairs; a new one is added."""
        index = self._places.setdefault((context, reply), len(self.pairs))
        if index == len(self.pairs):
            item, response = self._pair.item, self._pair.response
            self.pairs.append(Pair(replace(item, context=context), replace(response, text=reply)))
        return index


def _context_variants(
    context: tuple[Turn, ...], variants: _OcclusionVariants
) -> Iterator[tuple[ContextPart, int, int]]:
    """Each utterance, and each piece of the last ones, with the variants without it and with it alone."""
    reply = variants.pairs[0].response.text
    n_far = max(0, len(context) - MAX_TURNS)
    groups = ([range(n_far)] if n_far else []) + [range(i, i + 1) for i in range(n_far, len(context))]
    for group in groups:
        turns = context[group.start : group.stop]
        rest = context[: group.start] + context[group.stop :]
        speaker = turns[0].speaker if len(turns) == 1 else None
        text = "\n".join(turn.text for turn in turns)
        part = ContextPart(group.stop - 1, text, NAN, NAN, NAN, speaker, False, len(turns))
        yield part, variants.add(rest, reply), variants.add(turns, reply)
        if group.stop > len(context) - CUT_TURNS and len(turns) == 1:
            for piece in _split_turn(text):
                shortened, only = (replace(turns[0], text=t) for t in (remove_piece(text, piece), piece.text))
                around = (*context[: group.start], shortened, *context[group.stop :])
                piece_part = replace(part, text=piece.text, is_piece=True)
                yield piece_part, variants.add(around, reply), variants.add((only,), reply)


def _split_turn(text: str) -> list[TextPiece]:
    pieces = split_sentence_or_clause_pieces(text)
    return group_pieces(text, pieces, MAX_PARTS) if pieces else []


def _neighbouring_pieces(text: str, pieces: Sequence[TextPiece]) -> Iterator[TextPiece]:
    """Two and three neighbouring pieces, but never all of them."""
    for size in (size for size in _NEIGHBOURS if size < len(pieces)):
        for i in range(len(pieces) - size + 1):
            yield join_pieces(text, pieces[i : i + size])


def _check_metric(metric: Metric, pair: Pair) -> None:
    if isinstance(metric, SetMetric):
        raise SpecError(f"{metric} is computed over the whole set; use a metric of single replies")
    unsupported = sorted(metric.needs - {"context", "references"})
    if unsupported:
        raise SpecError(f"{metric} needs the {unsupported[0]}; use a metric that needs only the context or references")
    if "references" in metric.needs and not pair.item.references:
        raise InputError(
            f"{metric} needs references, and there are none for {pair.response.id!r}; "
            "choose a metric that needs none, or a file that has them"
        )


def _explanation_notes(metric: Metric, pair: Pair, unit: Unit, n_pieces: int) -> Iterator[str]:
    missing = compute.missing_part(metric, pair)
    if missing is not None:
        yield f"No score: the {missing} is blank." if missing == "reply" else f"No score: there is no {missing}."
    if "context" not in metric.needs:
        yield f"{metric} does not look at the context."
    if unit in _UNITS:
        yield _UNITS[unit]
    if missing is None and n_pieces == 1:
        yield "The reply is a single word: nothing of it can be left out."
    if len(pair.item.context) > MAX_TURNS:
        yield f"Of {len(pair.item.context)} utterances, all but the last {MAX_TURNS} are left out together."
    if any(compute.find_cut_pairs(metric, [pair])):
        yield f"{metric} cannot read all of this pair; what it did not read has no share."
    if not looks_english(pair.response.text):
        yield from describe_languages({str(metric): metric.languages})
