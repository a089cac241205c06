"""How far raters agree, aspect by aspect, from what is in the store now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rejoinder.annotation.fields import fields_of
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.contract import Judgement
from rejoinder.annotation.unit import Field, Unit, Value
from rejoinder.stats.agreement import fleiss_kappa
from rejoinder.stats.alpha import Scale, krippendorff_alpha
from rejoinder.stats.interval import Interval
from rejoinder.stats.units import compact, rating_matrix, unit_interval

RESAMPLES = 200


class Row(NamedTuple):
    """One thing that one rater said of one thing: a number, since that is what agreement is counted on."""

    aspect: str
    scale: Scale
    about: str
    rater: str
    value: float


class AspectAgreement(NamedTuple):
    """Agreement in one aspect: Krippendorff's alpha with an interval, Fleiss' kappa, and what they stand on."""

    aspect: str
    scale: Scale
    alpha: Interval
    kappa: float
    raters: int
    ratings: int
    compared: int  # units with two ratings or more
    mean: float
    reason: str


def agreement_of(
    project: Project, units: Iterable[Unit], judgements: Iterable[Judgement], resamples: int = RESAMPLES
) -> list[AspectAgreement]:
    """Agreement in every aspect that has a scale, a list of labels or a preference; of units only, not of checks."""
    by_aspect: dict[tuple[str, Scale], list[Row]] = {}
    for row in rows(project, units, judgements):
        by_aspect.setdefault((row.aspect, row.scale), []).append(row)
    return [_agreement(aspect, scale, found, resamples) for (aspect, scale), found in by_aspect.items()]


def rows(project: Project, units: Iterable[Unit], judgements: Iterable[Judgement]) -> Iterator[Row]:
    """What was chosen, one row a choice; for labels one row a label, whether it was given."""
    by_id = {unit.id: unit for unit in units if unit.kind == "unit"}
    for judgement in judgements:
        unit = by_id.get(judgement.unit)
        for field in fields_of(project, unit) if unit else ():
            given = judgement.answer.get(field.name)
            about = f"{judgement.unit} {field.reply or ''}"
            if given is not None:
                for aspect, scale, value in _values(field, given):
                    yield Row(aspect, scale, about, judgement.rater, value)


def _values(field: Field, given: Value) -> Iterator[tuple[str, Scale, float]]:
    if field.kind == "labels" and isinstance(given, list):
        for option in field.options:
            if option.value != "none":
                yield f"{field.aspect}: {option.label}", "nominal", float(option.value in given)
    elif field.kind == "choice" and isinstance(given, int):
        yield field.aspect, "ordinal", float(given)
    elif field.kind == "choice":
        values = sorted(str(option.value) for option in field.options)
        yield field.aspect, "nominal", float(values.index(str(given)))


def _agreement(aspect: str, scale: Scale, found: list[Row], resamples: int) -> AspectAgreement:
    matrix = rating_matrix([r.about for r in found], [r.rater for r in found], [r.value for r in found])
    values = compact(matrix.values)
    first = krippendorff_alpha(values, scale)
    alpha = unit_interval(values, lambda drawn: krippendorff_alpha(drawn, scale).value, n_resamples=resamples)
    return AspectAgreement(
        aspect,
        scale,
        alpha,
        fleiss_kappa(values).value,
        len(matrix.raters),
        len(found),
        first.n_units,
        sum(row.value for row in found) / len(found),
        first.reason or "",
    )
