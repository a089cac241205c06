"""Exports of LangSmith: runs with inputs, outputs and feedback, or examples of a dataset; JSON, JSONL or CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._batches import convert_request
from rejoinder.data.importers._chats import ChatConverter
from rejoinder.data.importers._files import files
from rejoinder.data.importers._markup_stripper import MarkupStripper
from rejoinder.data.importers._messages import id_of, name_of
from rejoinder.data.importers._payloads import find_prompt, find_replies
from rejoinder.data.importers._ratings import NOT_NUMBERS, LogRating, parse_ratings, parse_value
from rejoinder.data.importers._shapes import column_names
from rejoinder.data.importers._traces import ENDINGS, NO_PROMPT, Exchange, convert_exchanges, fold_keys, read_rows
from rejoinder.data.schema import Place
from rejoinder.types import Reference

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "LangSmith's exports of runs and of datasets (JSON, JSONL, CSV)"
TAKES = _chats.TAKES

_RUN_MARKS = frozenset(
    "runtype traceid parentrunid dottedorder feedbackstats starttime endtime referenceexampleid sessionname runid "
    "latency feedback status".split()
)
_EXAMPLE_KEYS = frozenset(
    "id inputs outputs metadata datasetid createdat modifiedat split sourcerunid attachments name examplestring "
    "datasetname".split()
)
_THREADS = ("thread_id", "session_id", "conversation_id")


def recognise(sample: Sample) -> bool:
    """Whether a file is an export of LangSmith."""
    names = column_names(sample)
    if not {"inputs", "outputs"} <= names or "resourcespans" in names:
        return False
    return bool(_RUN_MARKS & names) or (names <= _EXAMPLE_KEYS and not sample.header)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each run as an item and a response; an example of a dataset as an item with references."""
    runs: list[tuple[dict[str, Any], Place, File]] = []
    converter = ChatConverter(options, tally)
    for file in [options.file] if options.file else files(path, ENDINGS, tally):
        for place, entry in read_rows(file):
            for row in _flatten(entry):
                if _RUN_MARKS & row.keys():
                    runs.append((row, place, file))
                else:
                    yield from _convert_example(row, place, file, converter.stripper)
    exchanges = [_exchange(*run, tally.left_out) for run in _choose_runs(runs, tally.left_out)]
    yield from convert_exchanges(exchanges, converter, tally)


def _flatten(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a run and the runs inside it."""
    waiting = [dict(entry)]
    while waiting:
        run = waiting.pop()
        children = run.pop("child_runs", None)
        waiting += [child for child in children if isinstance(child, dict)] if isinstance(children, list) else []
        yield fold_keys(run)


def _convert_example(
    row: dict[str, Any], place: Place, file: File, stripper: MarkupStripper
) -> Iterator[ImportedRecord]:
    name = id_of(row.get("id")) or f"{file.stem}-{place.line}"
    prompt = find_prompt(row.get("inputs"))
    if not prompt:
        stripper.tally.left_out[NO_PROMPT] += 1
        return
    for record, where in convert_request(name, prompt, place, stripper, _references(row.get("outputs"))):
        yield ImportedRecord(record, where)


def _references(value: Any) -> tuple[Reference, ...]:
    texts = [reply["content"] for reply in find_replies(value)]
    return tuple(Reference(text) for text in texts if isinstance(text, str) and text.strip())


def _choose_runs(
    runs: list[tuple[dict[str, Any], Place, File]], left_out: Counter[str]
) -> Iterator[tuple[dict[str, Any], Place, File]]:
    """Yield the runs at the top that have a reply, and the calls of models below all others."""
    tops = [run for run, _, _ in runs if not run.get("parentrunid")]
    answered = {_trace(run) for run in tops if find_prompt(run.get("inputs")) and find_replies(run.get("outputs"))}
    models = {_trace(run): model for run, _, _ in runs if (model := _find_model(run)) is not None}
    for run, place, file in runs:
        if run.get("error") or str(run.get("status", "")).lower() in ("error", "failed"):
            left_out["runs that failed"] += 1
        elif run.get("parentrunid") and (_trace(run) in answered or str(run.get("runtype")).lower() != "llm"):
            left_out["runs inside other runs"] += 1
        elif (
            not run.get("parentrunid")
            and _trace(run) not in answered
            and models.keys() & {_trace(run)}
            and _is_chain(run)
        ):
            left_out["runs without a readable reply, whose calls are read"] += 1
        else:
            yield {**run, "tracemodel": models.get(_trace(run))}, place, file


def _is_chain(run: Mapping[str, Any]) -> bool:
    return str(run.get("runtype", "")).lower() not in ("llm", "")


def _trace(run: Mapping[str, Any]) -> str | None:
    return id_of(run.get("traceid")) or id_of(run.get("id")) or id_of(run.get("runid"))


def _metadata(run: Mapping[str, Any]) -> dict[str, Any]:
    extra = run.get("extra")
    parts = [extra.get(key) for key in ("metadata", "invocation_params")] if isinstance(extra, dict) else []
    return {
        key: value for part in (*parts, run.get("metadata")) if isinstance(part, dict) for key, value in part.items()
    }


def _find_model(run: Mapping[str, Any]) -> str | None:
    about = _metadata(run)
    named = (name_of(about.get(key)) for key in ("ls_model_name", "model_name", "model"))
    return next((model for model in named if model is not None), None) or name_of(run.get("model"))


def _exchange(run: dict[str, Any], place: Place, file: File, left_out: Counter[str]) -> Exchange:
    about = _metadata(run)
    threads = (id_of(about.get(key)) for key in _THREADS)
    model = _find_model(run) or name_of(run.get("tracemodel"))
    return Exchange(
        id=id_of(run.get("id")) or id_of(run.get("runid")),
        place=place,
        file=file,
        prompt=find_prompt(run.get("inputs")),
        replies=find_replies(run.get("outputs")),
        model=model or name_of(run.get("sessionname")) or name_of(run.get("name")),
        session=next((name for name in threads if name is not None), None) or id_of(run.get("threadid")),
        time=run.get("starttime"),
        ratings=tuple(_find_ratings(run, left_out)),
        references=_references(run.get("referenceoutputs") or run.get("reference")),
    )


def _find_ratings(run: Mapping[str, Any], left_out: Counter[str]) -> Iterator[LogRating]:
    """Yield the feedback of a run: one by one, or the mean of each key."""
    yield from parse_ratings("feedback", run.get("feedback"), left_out)
    stats = run.get("feedbackstats")
    for key, value in stats.items() if isinstance(stats, dict) else ():
        mean = parse_value(value.get("avg") if isinstance(value, dict) else value)
        if mean is None:
            left_out[NOT_NUMBERS] += 1
        else:
            yield LogRating(key, mean)
