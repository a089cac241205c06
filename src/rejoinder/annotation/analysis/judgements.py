"""People's judgements, from a file, a published set, a run folder or an annotation project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from rejoinder.annotation.exports.ratings import judgements_to_ratings
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import ProjectResults, read_results
from rejoinder.comparison.aggregation import AggregatedAspect, aggregate_ratings
from rejoinder.comparison.agreement import AspectAgreement, SuspectRater, examine_agreement, find_suspect_raters
from rejoinder.comparison.judgements import CheckTally, Judgements, binarise_judgements, sort_judgements
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import Input
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.folder import DATA, check_run_files
from rejoinder.scoring.run_parts import list_run_parts
from rejoinder.types import Preference, Rating, Record


class JudgedRecords(NamedTuple):
    """The records of a source, and its raters' results on attention checks, if it has any."""

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
    """Aggregate the ratings of several raters into one per reply and aspect, with its certainty.

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
    records, _ = read_judged_records(source, without, final=True)
    aspects = {record.aspect for record in records if isinstance(record, Rating | Preference)}
    if aspect is not None and aspects and aspect not in aspects:
        raise InputError(f"nobody rated the aspect {aspect!r}; {nearest(aspect, aspects)}")
    selected = [r for r in records if not isinstance(r, Rating | Preference) or aspect in (None, r.aspect)]
    return aggregate_ratings(selected, method)


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
    """Measure how well the raters of a source agree, per aspect with intervals, and which raters to look at.

    - ``source``: a file, ``dataset:NAME``, a run folder, the TOML file of an annotation project, or records.
    - ``aspect``: only this aspect.
    - ``scale``: the scale for Krippendorff's alpha; by default ordinal, and nominal for preferences.
    - ``weights``: how Cohen's kappa weighs a disagreement.
    - ``above``: divide ratings into two classes, above this value and not above it.
    - ``without``: raters to leave out.
    - ``resamples``: how many times units are resampled.
    - ``seed``: the seed of the resampling.

    >>> import rejoinder
    >>> report = rejoinder.agreement("chats.jsonl", aspect="appropriate", resamples=200)
    >>> 0 < report.aspects[0].alpha.value < 1
    True
    """
    records, checks = read_judged_records(source, without)
    name = str(source) if isinstance(source, str | Path) else "the source"
    judgements = sort_judgements(records, checks)
    selected = [judged for judged in judgements.aspects.values() if aspect in (None, judged.aspect)]
    if not judgements.aspects:
        raise InputError(f"{name} has no ratings and no preferences; name a file that has some")
    if not selected:
        aspects = [judged.aspect for judged in judgements.aspects.values()]
        raise InputError(f"nobody rated the aspect {aspect!r}; {nearest(str(aspect), aspects)}")
    if above is not None:
        selected, scale = [binarise_judgements(judged, above) for judged in selected], scale or "nominal"
    results = [examine_agreement(judged, scale, weights, resamples, seed) for judged in selected]
    return RaterReport(judgements, results, find_suspect_raters(judgements, results))


def read_project_ratings(project: str | Path) -> Collection:
    """Return the ratings and preferences of an annotation project so far; each says how its reply was drawn.

    - ``project``: the TOML file that describes it.

    >>> import rejoinder
    >>> with rejoinder.annotate("project.toml") as annotation:
    ...     link = annotation.links(raters="ann", owner=False)
    >>> rejoinder.annotation.read_project_ratings("project.toml").ratings
    []
    """
    found = Collection()
    for record in read_judged_records(project, final=True).records:
        found.add(record)
    return found


def find_ratings(source: str | None) -> Collection | str | None:
    """Return the ratings of a project that a command names; the name of anything else as it is."""
    is_project = source is not None and source.lower().endswith(".toml")
    return read_project_ratings(source) if is_project and source is not None else source


def read_judged_records(
    source: Iterable[Record] | str | Path, without: Sequence[str] = (), final: bool = False
) -> JudgedRecords:
    """Return the records of a source without those of some raters; ``final``: a project's decisions count."""
    if not isinstance(source, str | Path):
        records, checks = list(source), dict[str, CheckTally]()
    elif str(source).endswith(".toml"):
        records, checks = _read_project(Path(source), final)
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
    """Yield every record; ratings may refer to responses that the source does not have."""
    folder = Path(source)
    if folder.is_dir():
        check_run_files(folder, {DATA})
    for file in [part / DATA for part in list_run_parts(folder)] if folder.is_dir() else [source]:
        data = Input(file)
        try:
            for record, _ in data.records(allow_empty=True):
                yield record
        finally:
            data.close()


def _read_project(path: Path, final: bool) -> tuple[list[Record], dict[str, CheckTally]]:
    """Return the judgements of an annotation project so far."""
    project = read_project(path)
    file = project.database.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():  # opening it would create it
        raise InputError(
            f"{path}: there are no judgements yet (no {file}); serve the project with: rejoinder annotate {path}"
        )
    store = open_store(project)
    try:
        records, checks = read_ratings_and_checks(store, final)
        return list(records), checks
    finally:
        store.close()


def read_ratings_and_checks(
    store: Store, final: bool = True
) -> tuple[list[Rating | Preference], dict[str, CheckTally]]:
    """Return the ratings and preferences of units (without checks and exercise), and each rater's results on checks.

    ``final`` puts the owner's decisions in place of the raters' answers.
    """
    return list(judgements_to_ratings(read_results(store), final)), count_checks(store)


def count_checks(store: Store) -> dict[str, CheckTally]:
    """Count how many checks each rater answered, and how many correctly; raters without checks are left out."""
    return {
        rater.name: CheckTally(rater.checks_right, rater.checks) for rater in store.progress().raters if rater.checks
    }


def read_sorted_judgements(store: Store) -> Judgements:
    """Return the judgements sorted by aspect and rater; times include those of written texts."""
    results = read_results(store)
    judgements = sort_judgements(judgements_to_ratings(results, final=False), count_checks(store))
    return replace(judgements, seconds=_collect_times(results))


def _collect_times(results: ProjectResults) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for _, judgement in results.ordinary():
        if seconds := round(judgement.seconds, 3):  # 0: imported without a time
            times.setdefault(judgement.rater, []).append(seconds)
    return times
