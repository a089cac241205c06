"""What is needed to find pools: the items, the repository without what is barred, and the facts for the card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rejoinder.errors import InputError
from rejoinder.selection.contexts import Taken, take
from rejoinder.selection.leakage import Training, scan
from rejoinder.selection.pools import Proposing
from rejoinder.selection.settings import Settings
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question, Record


@dataclass(frozen=True, eq=False)
class Work:
    """Items that have no part in training, what finds their pools, and what the card says of all this."""

    items: tuple[Item, ...]
    proposing: Proposing
    facts: Mapping[str, Any] = field(default_factory=dict)


def open_work(
    dialogues: Iterable[Dialogue | Item | Question],
    repository: Iterable[Dialogue] | Corpus,
    settings: Settings,
    training: Iterable[Record] | Training = (),
) -> Work:
    """Take the items, hold them and the repository against what systems were trained on, and open the sources.

    What was held against them before (``leakage.scan`` of the same items) need not be read again.
    """
    taken = take(dialogues, settings)
    corpus = repository if isinstance(repository, Corpus) else Corpus.of(repository)
    seen = training if isinstance(training, Training) else scan(training, taken.items)
    items = tuple(item for item in taken.items if not seen.leaked(item))
    blocked = int(seen.blocked(corpus)[corpus.said].sum())
    if not items:
        raise InputError(f"all {len(taken.items):,} questions are in the training files; name others with --from")
    if blocked == corpus.n_turns:
        raise InputError(
            f"all {blocked:,} utterances of the repository are in the training files; name another with --repository"
        )
    proposing = Proposing(corpus, settings, seen)
    facts = {
        "settings": asdict(settings),
        "dialogues": _dialogues(taken),
        "repository": {
            "dialogues": len(corpus.ids),
            "utterances": corpus.n_turns,
            "different": len(corpus.digests),
            "digest": corpus.digest,
        },
        "sources": proposing.sources(),
        "leakage": _leakage(seen, len(taken.items) - len(items), blocked),
    }
    return Work(items, proposing, facts)


def _dialogues(taken: Taken) -> dict[str, int]:
    return {
        "dialogues": taken.dialogues,
        "dialogues that are too short": taken.too_short,
        "items without a reply": taken.without_reply,
        "contexts and replies that were there already": taken.twice,
        "contexts with a true reply": len(taken.items),
    }


def _leakage(seen: Training, leaked: int, blocked: int) -> dict[str, Any]:
    return {
        "checked against": len(seen.said),
        "questions left out": leaked,
        "utterances of the repository left out": blocked,
    }
