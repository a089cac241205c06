"""What a language model answered about the samples, stored without texts: the slow rows of ``reproduce modern``.

    python -m rejoinder_lab.papers.own.modern.stored      compute the answers again and store them; needs smollm2-135m

Values stand under the digest of what was asked. Where the language model is here, they count only if it is the one that
they were computed with; where it is not, they count.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import orjson

from rejoinder.errors import RejoinderError
from rejoinder.judges.factory import EMBEDDED, Judge, open_judge
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.metric import NAN, Metric, parse, signature
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.cache import pairs_digest
from rejoinder.types import Pair
from rejoinder_lab.papers.own.modern.measures import (
    PAIRWISE,
    SETS,
    DuelSet,
    MetricPreferences,
    PublishedSet,
    prefer_by_scores,
    read_duels,
)
from rejoinder_lab.papers.stored_answers import read_stored, write_stored

PATH = Path(__file__).with_name("stored_scores.json.gz")
SLOW = ("norm_prob", "fed", "judge")  # these read every reply with a language model, so they are measured on a sample
_SEED = 6
_REMEDY = "compute the scores again: python -m rejoinder_lab.papers.own.modern.stored"


@dataclass(frozen=True)
class StoredScores:
    """Values by row and by the digest of what was asked, and the signature of the metric of each row."""

    signatures: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)

    def find(self, row: str, asked: str) -> Sequence[Any] | None:
        """The values of a row; None where something else was asked, or the metric is another one here."""
        found = self.values.get(row, {}).get(asked)
        return found if found is not None and _sign(row) in (None, self.signatures[row]) else None


def read_stored_scores(path: Path = PATH) -> StoredScores:
    """Read stored values; none where there is no file."""
    if not path.is_file():
        return StoredScores()
    content = read_stored(path, _REMEDY)
    return StoredScores(content["signatures"], content["values"])


def draw_places(published: PublishedSet, rows: DuelSet) -> list[int]:
    """The places of the sample that the slow rows are measured on."""
    return rows.drawn(published.sample, _SEED)


def list_choices(sample: DuelSet) -> tuple[list[int], list[ResponsePair]]:
    """The duels of a sample that a judge can compare, and what it is shown of each."""
    places = [i for i, duel in enumerate(sample.duels) if duel.first.text.strip() and duel.second.text.strip()]
    duels = [sample.duels[i] for i in places]
    return places, [ResponsePair(d.item.context, d.first.text, d.second.text) for d in duels]


def prefer_by_stored(spec: str, sample: DuelSet, stored: StoredScores) -> MetricPreferences:
    """The preferences of a slow metric, by its stored scores where they are known."""
    metric, pairs = parse(spec), sample.pairs()
    scores = stored.find(spec, _pairs_digest(metric, pairs))
    if scores is None:
        return prefer_by_scores(metric, sample, signature(metric))
    return prefer_by_scores(metric, sample, stored.signatures[spec], [NAN if s is None else s for s in scores])


def compare_by_stored(judge: Judge, asked: Sequence[ResponsePair], stored: StoredScores) -> list[PairComparison]:
    """The embedded judge's comparisons in both orders, the stored ones where they are known."""
    found = stored.find(PAIRWISE, _choices_digest(asked))
    return judge.compare(asked) if found is None else [PairComparison(*one) for one in found]


def list_unknown(samples: Sequence[DuelSet], stored: StoredScores) -> list[str]:
    """The slow metrics whose scores are not stored for all samples."""
    return [
        spec
        for spec in SLOW
        if any(stored.find(spec, _pairs_digest(parse(spec), sample.pairs())) is None for sample in samples)
    ]


def compute_scores(samples: Sequence[DuelSet]) -> Iterator[StoredScores]:
    """Compute the values of all rows, those so far after each row."""
    signatures: dict[str, str] = {}
    values: dict[str, dict[str, Sequence[Any]]] = {}
    for spec in SLOW:
        metric = parse(spec)
        signatures[spec], values[spec] = _sign(spec) or "", {}
        for sample in samples:
            scores = score_pairs(metric, sample.pairs())
            values[spec][_pairs_digest(metric, sample.pairs())] = [None if math.isnan(s) else float(s) for s in scores]
        yield StoredScores(signatures, values)
    judge = open_judge(EMBEDDED)
    signatures[PAIRWISE], values[PAIRWISE] = _sign(PAIRWISE) or "", {}
    for _, asked in map(list_choices, samples):
        compared = judge.compare(asked)
        values[PAIRWISE][_choices_digest(asked)] = [[c.choice, c.forward, c.backward, c.advantage] for c in compared]
    yield StoredScores(signatures, values)


def _sign(row: str) -> str | None:
    """The signature of a row's metric; None where its model is not here."""
    try:
        return signature(parse("judge" if row == PAIRWISE else row))
    except RejoinderError:
        return None


def _pairs_digest(metric: Metric, pairs: Sequence[Pair]) -> str:
    return pairs_digest(pairs, metric.needs, metric.reads)


def _choices_digest(asked: Sequence[ResponsePair]) -> str:
    content = [[[[turn.speaker, turn.text] for turn in one.context], one.first, one.second] for one in asked]
    return hashlib.blake2b(orjson.dumps(content), digest_size=20).hexdigest()


@click.command()
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where to; by default, beside this module.")
def main(output: Path | None) -> None:
    """Compute the answers about the samples again and store them."""
    sets = [(one, read_duels(one)) for one in SETS]
    for found in compute_scores([rows.only(draw_places(one, rows)) for one, rows in sets]):
        write_stored(output or PATH, {"signatures": found.signatures, "values": found.values})
        click.echo(f"stored: {', '.join(found.values)}")


if __name__ == "__main__":
    main()
