"""People's judgements, from a file, a published set, a run folder or an annotation project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from rejoinder.annotation.progress import read_ratings_and_checks
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.comparison.aggregation import AggregatedAspect, aggregate_ratings
from rejoinder.comparison.agreement import AspectAgreement, SuspectRater, examine_agreement, suspects
from rejoinder.comparison.judgements import CheckTally, Judgements, binarise_judgements, sort_judgements
from rejoinder.data.inputs import Input
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.folder import DATA, check_files
from rejoinder.scoring.sharded.reader import list_run_parts
from rejoinder.types import Preference, Rating, Record


class JudgedRecords(NamedTuple):
    """The records of a source, and how its raters did on attention checks where the source has any."""

    records: list[Record]
    checks: Mapping[str, CheckTally]


@dataclass(frozen=True)
class RaterReport:
    """How well people agree in each aspect, and which raters to look at."""

    judgements: Judgements
    aspects: Sequence[AspectAgreement]
    suspects: Sequence[SuspectRater] = field(default=())


def aggregate(
    source: Iterable[Record] | str | Path,
    method: str = "mean",
    *,
    aspect: str | None = None,
    without: Sequence[str] = (),
) -> list[AggregatedAspect]:
    """One rating per reply and aspect from those of several raters, with how sure it is.

    - ``source``: a file, ``dataset:NAME``, a run folder, the TOML file of an annotation project, or records.
    - ``method``: ``mean``, ``mode``, ``majority``, ``dawid_skene``, ``minimax_entropy``, ``minimax_entropy_ordinal``;
      ``glad`` and ``mace`` need crowd-kit.
    - ``aspect``: only this aspect.
    - ``without``: raters to leave out.

    >>> import rejoinder
    >>> made = rejoinder.aggregate("chats.jsonl", "mean", aspect="appropriate")
    >>> [rating.rater for rating in made[0].records[:1]]
    ['aggregate:mean']
    """
    records, _ = read_judged_records(source, without)
    aspects = {record.aspect for record in records if isinstance(record, Rating | Preference)}
    if aspect is not None and aspects and aspect not in aspects:
        raise InputError(f"nobody rated the aspect {aspect!r}; {nearest(aspect, aspects)}")
    wanted = [r for r in records if not isinstance(r, Rating | Preference) or aspect in (None, r.aspect)]
    return aggregate_ratings(wanted, method)


def agreement(
    source: Iterable[Record] | str | Path,
    *,
    aspect: str | None = None,
    scale: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    weights: Literal["none", "linear", "quadratic"] | None = None,
    above: float | None = None,
    without: Sequence[str] = (),
    resamples: int = 1000,
    seed: int = 0,
) -> RaterReport:
    """How well the raters of a source agree, per aspect with intervals, and which raters to look at.

    - ``source``: a file, ``dataset:NAME``, a run folder, the TOML file of an annotation project, or records.
    - ``aspect``: only this aspect.
    - ``scale``: the scale for Krippendorff's alpha; ordinal, and nominal for preferences, where none is named.
    - ``weights``: how Cohen's kappa weighs a disagreement.
    - ``above``: ratings are taken in two classes, above this value and not above it.
    - ``without``: raters to leave out.
    - ``resamples``: how often units are resampled.
    - ``seed``: the seed of the resamples.

    >>> import rejoinder
    >>> report = rejoinder.agreement("chats.jsonl", aspect="appropriate", resamples=200)
    >>> 0 < report.aspects[0].alpha.value < 1
    True
    """
    records, checks = read_judged_records(source, without)
    called = str(source) if isinstance(source, str | Path) else "the source"
    given = sort_judgements(records, checks)
    chosen = [judged for judged in given.aspects.values() if aspect in (None, judged.aspect)]
    if not given.aspects:
        raise InputError(f"{called} has no ratings and no preferences; name a file that has some")
    if not chosen:
        known = [judged.aspect for judged in given.aspects.values()]
        raise InputError(f"nobody rated the aspect {aspect!r}; {nearest(str(aspect), known)}")
    if above is not None:
        chosen, scale = [binarise_judgements(judged, above) for judged in chosen], scale or "nominal"
    examined = [examine_agreement(judged, scale, weights, resamples, seed) for judged in chosen]
    return RaterReport(given, examined, suspects(given, examined))


def read_judged_records(source: Iterable[Record] | str | Path, without: Sequence[str] = ()) -> JudgedRecords:
    """The records of a source without those of some raters."""
    if not isinstance(source, str | Path):
        records, checks = list(source), dict[str, CheckTally]()
    elif str(source).endswith(".toml"):
        records, checks = _read_project(Path(source))
    else:
        records, checks = list(_read_records(str(source))), {}
    raters = {record.rater for record in records if isinstance(record, Rating | Preference)}
    for name in without:
        if name not in raters:
            raise InputError(f"no rater is called {name!r}; {nearest(name, raters)}")
    excluded = frozenset(without)
    remaining = [r for r in records if not (isinstance(r, Rating | Preference) and r.rater in excluded)]
    return JudgedRecords(remaining, {rater: tally for rater, tally in checks.items() if rater not in excluded})


def _read_records(source: str) -> Iterator[Record]:
    """Every record as it is: ratings need not come with what they rate."""
    folder = Path(source)
    if folder.is_dir():
        check_files(folder, {DATA})
    for file in [part / DATA for part in list_run_parts(folder)] if folder.is_dir() else [source]:
        data = Input(file)
        try:
            for record, _ in data.records(allow_empty=True):
                yield record
        finally:
            data.close()


def _read_project(path: Path) -> tuple[list[Record], dict[str, CheckTally]]:
    """The judgements of an annotation project so far."""
    project = read_project(path)
    file = project.database.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():  # opening it would create one
        raise InputError(
            f"{path}: nobody has judged anything yet (no {file}); serve it with: rejoinder annotate {path}"
        )
    store = open_store(project)
    try:
        records, checks = read_ratings_and_checks(store)
        return list(records), checks
    finally:
        store.close()
