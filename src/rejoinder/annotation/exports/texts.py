"""Export of what people wrote, validated and reviewed, as items and responses: SUGAR's steps, and reviewed references.

- write: the items, and each text as a response whose system is the rater; ready to be validated.
- situation: the items with the statements that were written (instead of the earlier ones).
- validate: the items, with the responses that most raters approved in every aspect (two of three) as references.
- review: the items, with the added references that more raters kept than rejected, as edited if at least
  as many edited as accepted them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rejoinder.annotation.answers import split_answer_lines
from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.store.results import FieldAnswer, ProjectResults, split_answer
from rejoinder.annotation.unit import FormName
from rejoinder.data.collection import Collection
from rejoinder.data.writer import encode_record
from rejoinder.seeded import stable_hash
from rejoinder.types import Item, Record, Reference, Response, Statement


def write(results: ProjectResults) -> bytes:
    """Return the records; the project's data is read again."""
    from rejoinder.data.inputs import read

    return b"".join(encode_record(record) for record in collect_written_records(results, read(*results.project.data)))


def collect_written_records(results: ProjectResults, data: Collection) -> Iterator[Record]:
    """Yield the records of a project whose form collects texts or verdicts on them."""
    form = results.project.form
    if form not in _RECORDS:
        raise AnnotationError(f"the form {form!r} collects ratings, not texts; export 'ratings'")
    return _RECORDS[form](results, data)


def has_texts(form: FormName) -> bool:
    """Whether a form collects texts, or verdicts on them."""
    return form in _RECORDS


def majority_size(raters: int) -> int:
    """Return how many of ``raters`` are more than half: two of three, three of five."""
    return raters // 2 + 1


def _group_by_item(results: ProjectResults) -> dict[str, list[FieldAnswer]]:
    by_item: dict[str, list[FieldAnswer]] = {}
    for unit, judgement in results.ordinary():
        by_item.setdefault(unit.hidden["item"], []).extend(split_answer(results, unit, judgement))
    return by_item


def _write_records(results: ProjectResults, data: Collection) -> Iterator[Record]:
    by_item = _group_by_item(results)
    yield from (item for item in data.items.values() if item.id in by_item)
    for item, answers in by_item.items():
        for answer in answers:
            if answer.field.name != "comment":
                rater, aspect = answer.judgement.rater, answer.field.aspect
                meta = {"aspect": aspect}
                yield Response(f"{item}/{rater}/{aspect}", item, rater, str(answer.value), meta)


def _situation_records(results: ProjectResults, data: Collection) -> Iterator[Record]:
    for item, answers in _group_by_item(results).items():
        if item in data.items:
            statements = {
                Statement(text, answer.field.aspect)
                for answer in answers
                if answer.field.kind == "lines"
                for text in split_answer_lines(str(answer.value))
            }
            order = {aspect.name: n for n, aspect in enumerate(results.project.aspects)}
            ordered = sorted(statements, key=lambda s: (order[s.category or ""], s.text))
            yield replace(data.items[item], situation=tuple(ordered))


def _validation_records(results: ProjectResults, data: Collection) -> Iterator[Record]:
    approvals: dict[str, int] = {}
    for unit, judgement in results.final():
        by_response: dict[str, list[bool]] = {}
        for answer in split_answer(results, unit, judgement):
            if answer.response is not None and answer.field.kind == "choice":
                best = max(int(option.value) for option in answer.field.options)
                by_response.setdefault(answer.response, []).append(answer.value == best)
        for response, good in by_response.items():
            approvals[response] = approvals.get(response, 0) + all(good)
    references: dict[str, list[Reference]] = {}
    for response, count in approvals.items():
        if count >= majority_size(results.project.raters_per_unit) and response in data.responses:
            approved = data.responses[response]
            references.setdefault(approved.item, []).append(Reference(approved.text, approved.system))
    for item in data.items.values():
        if item.id in references:
            yield replace(item, references=(*item.references, *references[item.id]))


def _review_records(results: ProjectResults, data: Collection) -> Iterator[Record]:
    verdicts: dict[str, list[str]] = {}
    edits: dict[str, str] = {}
    for unit, judgement in results.final():
        for answer in split_answer(results, unit, judgement):
            if answer.response is not None and answer.field.kind == "choice":
                verdicts.setdefault(answer.response, []).append(str(answer.value))
            elif answer.response is not None:
                edits.setdefault(answer.response, str(answer.value))
    for item in data.items.values():
        reviewed = [_review_reference(item, reference, verdicts, edits) for reference in item.references]
        yield replace(item, references=tuple(reference for reference in reviewed if reference is not None))


def _review_reference(
    item: Item, reference: Reference, verdicts: dict[str, list[str]], edits: dict[str, str]
) -> Reference | None:
    """Return a reference as reviewed, or None; one that nobody has reviewed is kept only if a person wrote it."""
    id = f"{item.id}/reference/{stable_hash(reference.text):016x}"
    votes = verdicts.get(id)
    if votes is None:
        return reference if reference.source == "human" else None
    if votes.count("reject") * 2 >= len(votes):
        return None
    if votes.count("edit") >= votes.count("accept") and edits.get(id, reference.text) != reference.text:
        return Reference(edits[id], f"{reference.source}, edited", reference.score, reference.text)
    return reference


_RECORDS: dict[FormName, Callable[[ProjectResults, Collection], Iterator[Record]]] = {
    "write": _write_records,
    "situation": _situation_records,
    "validate": _validation_records,
    "review": _review_records,
}
