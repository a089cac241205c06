"""All texts to score for some exchanges: each true reply, and what every trial turns it into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.engines.base import Engine
from rejoinder.metric import Metric
from rejoinder.probes.attacks import ATTACKS, make_attack_text
from rejoinder.probes.edits import EDITS, make_edit_text
from rejoinder.probes.exchange import Exchange
from rejoinder.scoring.worker import score_pairs_with_engine
from rejoinder.stats.arrays import NAN, Floats, Ints
from rejoinder.types import Pair, Response

TrialKind: TypeAlias = Literal["attack", "edit"]


class Trial(NamedTuple):
    """An attack or an edit by name."""

    kind: TrialKind
    name: str
    about: str


TRIALS = (
    *(Trial("attack", one.name, one.about) for one in ATTACKS),
    *(Trial("edit", one.name, one.about) for one in EDITS),
)
TRUE = "true"


@dataclass(frozen=True)
class TrialVariants:
    """The texts of every trial, one per exchange (None where the trial leaves the exchange out)."""

    exchanges: tuple[Exchange, ...]
    texts: dict[str, tuple[str | None, ...]]

    @classmethod
    def of(cls, exchanges: Iterable[Exchange], seed: int) -> TrialVariants:
        """Apply all attacks and edits to some exchanges."""
        exchange_list = tuple(exchanges)
        texts = {
            trial.name: tuple(make_attack_text(trial, seed, exchange) for exchange in exchange_list)
            for trial in ATTACKS
        }
        texts |= {
            trial.name: tuple(make_edit_text(trial, seed, exchange) for exchange in exchange_list) for trial in EDITS
        }
        return cls(exchange_list, texts)

    def nth_of_corpus(self) -> Ints:
        """The number of each exchange within its corpus."""
        counts: Counter[str] = Counter()
        numbers = []
        for exchange in self.exchanges:
            numbers.append(counts[exchange.corpus])
            counts[exchange.corpus] += 1
        return np.array(numbers, dtype=np.int64)

    def scores(self, metric: Metric, engine: Engine | None = None) -> dict[str, Floats]:
        """The scores of the true replies (``TRUE``) and of every trial, NaN where there is no text.

        All texts are scored as one set, those of one exchange one after another.
        """
        pairs: list[Pair] = []
        places: dict[str, list[int]] = {name: [] for name in (TRUE, *self.texts)}
        for i, exchange in enumerate(self.exchanges):
            item = exchange.item()
            for name, text in self._of(i):
                places[name].append(-1 if text is None else len(pairs))
                if text is not None:
                    pairs.append(Pair(item, Response(f"{item.id}/{name}", item.id, name, text)))
        # The last value is for trials without a text.
        values = np.append(score_pairs_with_engine(engine, metric, pairs), NAN)
        return {name: values[indices] for name, indices in places.items()}

    def _of(self, i: int) -> Sequence[tuple[str, str | None]]:
        return [(TRUE, self.exchanges[i].reply), *((name, texts[i]) for name, texts in self.texts.items())]
