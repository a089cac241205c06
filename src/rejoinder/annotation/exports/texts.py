"""What people wrote, reviewed and validated, as items and responses: SUGAR's steps, and references that were kept.

- write: the items, and each text as a response whose system is the rater; ready to be validated.
- situation: the items with the statements that were written (instead of those that were there).
- validate: the items, with those responses as references that enough raters found good in every aspect (two of three).
- review: the items, with those added references that more raters kept than rejected, as edited where most edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rejoinder.annotation.answers import split_statements
from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.results import FieldAnswer, Results, split_answer
from rejoinder.annotation.unit import FormName
from rejoinder.data.collection import Collection
from rejoinder.data.writer import encode
from rejoinder.seeded import stable_hash
from rejoinder.types import Item, Record, Reference, Response, Statement


def write(results: Results) -> bytes:
    """The records, with the project's data read again."""
    from rejoinder.data.inputs import read

    return b"".join(encode(record) for record in to_records(results, read(*results.project.data)))


def to_records(results: Results, data: Collection) -> Iterator[Record]:
    """The records that came of a project whose form brings texts."""
    form = results.project.form
    if form not in _RECORDS:
        raise AnnotationError(f"the form {form!r} brings ratings, no texts; export 'ratings'")
    return _RECORDS[form](results, data)


def majority(raters: int) -> int:
    """How many of so many raters must approve: two of three, three of five, more than half."""
    return raters // 2 + 1


def _group_by_item(results: Results) -> dict[str, list[FieldAnswer]]:
    found: dict[str, list[FieldAnswer]] = {}
    for unit, judgement in results.ordinary():
        found.setdefault(unit.hidden["item"], []).extend(split_answer(results, unit, judgement))
    return found


def _write_records(results: Results, data: Collection) -> Iterator[Record]:
    by_item = _group_by_item(results)
    yield from (item for item in data.items.values() if item.id in by_item)
    for item, texts in by_item.items():
        for one in texts:
            if one.field.name != "comment":
                rater, aspect = one.judgement.rater, one.field.aspect
                meta = {"aspect": aspect}
                yield Response(f"{item}/{rater}/{aspect}", item, rater, str(one.value), meta)


def _situation_records(results: Results, data: Collection) -> Iterator[Record]:
    for item, texts in _group_by_item(results).items():
        if item in data.items:
            found = {
                Statement(text, one.field.aspect)
                for one in texts
                if one.field.kind == "lines"
                for text in split_statements(str(one.value))
            }
            order = {aspect.name: n for n, aspect in enumerate(results.project.aspects)}
            ordered = sorted(found, key=lambda s: (order[s.category or ""], s.text))
            yield replace(data.items[item], situation=tuple(ordered))


def _validation_records(results: Results, data: Collection) -> Iterator[Record]:
    approvals: dict[str, int] = {}
    for unit, judgement in results.ordinary():
        by_response: dict[str, list[bool]] = {}
        for one in split_answer(results, unit, judgement):
            if one.response is not None and one.field.kind == "choice":
                best = max(int(option.value) for option in one.field.options)
                by_response.setdefault(one.response, []).append(one.value == best)
        for response, good in by_response.items():
            approvals[response] = approvals.get(response, 0) + all(good)
    kept: dict[str, list[Reference]] = {}
    for response, count in approvals.items():
        if count >= majority(results.project.raters_per_unit) and response in data.responses:
            found = data.responses[response]
            kept.setdefault(found.item, []).append(Reference(found.text, found.system))
    for item in data.items.values():
        if item.id in kept:
            yield replace(item, references=(*item.references, *kept[item.id]))


def _review_records(results: Results, data: Collection) -> Iterator[Record]:
    verdicts: dict[str, list[str]] = {}
    edits: dict[str, str] = {}
    for unit, judgement in results.ordinary():
        for one in split_answer(results, unit, judgement):
            if one.response is not None and one.field.kind == "choice":
                verdicts.setdefault(one.response, []).append(str(one.value))
            elif one.response is not None:
                edits.setdefault(one.response, str(one.value))
    for item in data.items.values():
        kept = [_review_reference(item, reference, verdicts, edits) for reference in item.references]
        yield replace(item, references=tuple(reference for reference in kept if reference is not None))


def _review_reference(
    item: Item, one: Reference, verdicts: dict[str, list[str]], edits: dict[str, str]
) -> Reference | None:
    """A reference as reviewed; one that nobody has reviewed is left out, unless it is a person's."""
    id = f"{item.id}/reference/{stable_hash(one.text):016x}"
    said_of_it = verdicts.get(id)
    if said_of_it is None:
        return one if one.source == "human" else None
    if said_of_it.count("reject") * 2 >= len(said_of_it):
        return None
    if said_of_it.count("edit") >= said_of_it.count("accept") and edits.get(id, one.text) != one.text:
        return Reference(edits[id], f"{one.source}, edited", one.score, one.text)
    return one


_RECORDS: dict[FormName, Callable[[Results, Collection], Iterator[Record]]] = {
    "write": _write_records,
    "situation": _situation_records,
    "validate": _validation_records,
    "review": _review_records,
}
