"""Exports of Langfuse: traces, observations and scores, as JSON, JSONL or CSV with JSON in its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _chats
from rejoinder.data.importers._chats import ChatConverter
from rejoinder.data.importers._files import files
from rejoinder.data.importers._messages import id_of, name_of
from rejoinder.data.importers._payloads import find_prompt, find_replies
from rejoinder.data.importers._ratings import LogRating, parse_ratings, parse_value
from rejoinder.data.importers._shapes import column_names
from rejoinder.data.importers._traces import ENDINGS, Exchange, convert_exchanges, fold_keys, read_rows
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

if TYPE_CHECKING:
    from rejoinder.data.tables.detection import Sample

SUMMARY = "Langfuse's exports of traces, observations and scores (JSON, JSONL, CSV)"
TAKES = _chats.TAKES

_OBSERVATION_TYPES = frozenset("span event generation agent tool chain retriever evaluator embedding guardrail".split())
# Only Langfuse's tables have one of these columns,
_MARKS = frozenset(
    "traceid observationid parentobservationid bookmarked usagedetails costdetails providedmodelname modelparameters "
    "completionstarttime timetofirsttoken promptname observationcount".split()
)
# or several of these.
_WEAK_MARKS = frozenset("sessionid userid timestamp release environment tags latency totalcost scores public".split())
_KNOWN = _MARKS | _WEAK_MARKS | frozenset(
    "id input output name model metadata version starttime endtime createdat updatedat type level statusmessage "
    "projectid promptid promptversion usage inputcost outputcost inputtokens outputtokens totaltokens tokens cost "
    "inputprice outputprice totalprice unit observations htmlpath modelid internalmodelid externalid comments "
    "tracename tracetags toolcalls tooldefinitions toolcallnames haserror errorcount".split()
)  # fmt: skip


def recognise(sample: Sample) -> bool:
    """Whether a file is an export of Langfuse."""
    names = column_names(sample)
    if {"resourcespans", "runtype", "attributes", "inputs", "outputs", "messages"} & names:
        return False
    if {"trace", "observations"} <= names or {"traces", "environment"} <= names:
        return True
    is_cut = not sample.values and not sample.header
    if "input" in names and ("output" in names or is_cut):
        return bool(_MARKS & names) or len(_WEAK_MARKS & names) >= 3
    return {"name", "value", "source"} <= names and bool({"traceid", "observationid"} & names)


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield each traced call as an item and a response; the calls of a session are one conversation."""
    export = _Export()
    for file in [options.file] if options.file else files(path, ENDINGS, tally):
        for place, row in read_rows(file):
            for entry in _unwrap(row, place):
                export.add(entry, place, file, tally.left_out)
    exchanges = list(export.exchanges(tally.left_out))
    yield from convert_exchanges(exchanges, ChatConverter(options, tally), tally)


def _unwrap(row: dict[str, Any], place: Place) -> Iterator[dict[str, Any]]:
    """Yield the traces, observations and scores in a row: a page of the API, a session or a trace holds several."""
    for key in ("data", "traces"):
        entries = row.get(key)
        if isinstance(entries, list) and "input" not in row:
            for entry in entries:
                if not isinstance(entry, dict):
                    raise InputError(f"{place}: an entry of {key!r} is {brief(entry)}; it must be an object")
                session = {"sessionId": row.get("id")} if key == "traces" else {}
                yield from _unwrap({**session, **entry}, place)
            return
    trace = row.get("trace")
    whole = {**trace, **{k: v for k, v in row.items() if k != "trace"}} if isinstance(trace, dict) else row
    yield {key: value for key, value in whole.items() if key != "observations"}
    observations = whole.get("observations")
    for entry in observations if isinstance(observations, list) else []:
        if isinstance(entry, dict):
            yield {"traceId": whole.get("id"), "sessionId": whole.get("sessionId"), "type": "SPAN", **entry}


class _Export:
    """The rows so far: traces, observations, and the scores of each by id."""

    def __init__(self) -> None:
        self._traces: list[tuple[dict[str, Any], Place, File]] = []
        self._observations: list[tuple[dict[str, Any], Place, File]] = []
        self._scores: dict[str, list[LogRating]] = {}
        self._sessions: dict[str, str] = {}
        self._models: dict[str, str] = {}

    def add(self, entry: dict[str, Any], place: Place, file: File, left_out: Counter[str]) -> None:
        """Add a row."""
        row = fold_keys(entry)
        trace = id_of(row.get("traceid"))
        if "input" not in row and "output" not in row and "name" in row and ("value" in row or "stringvalue" in row):
            target = id_of(row.get("observationid")) or trace
            if target is not None:
                self._scores.setdefault(target, []).extend(_parse_scores([entry], left_out))
            return
        ratings = [*_parse_scores(row.get("scores"), left_out), *_score_columns(entry)]
        self._scores.setdefault(id_of(row.get("id")) or trace or str(place), []).extend(ratings)
        if str(row.get("type", "")).lower() in _OBSERVATION_TYPES or row.get("parentobservationid"):
            model = name_of(row.get("model")) or name_of(row.get("providedmodelname"))
            if trace is not None and model is not None:
                self._models[trace] = model
            self._observations.append((row, place, file))
            return
        name, session = id_of(row.get("id")) or trace, id_of(row.get("sessionid"))
        if name is not None and session is not None:
            self._sessions[name] = session
        self._traces.append((row, place, file))

    def exchanges(self, left_out: Counter[str]) -> Iterator[Exchange]:
        """Yield the calls: traces with an input and an output, and the generations of all others."""
        read_traces = set()
        calls = []
        for row, place, file in self._traces:
            if find_prompt(row.get("input")) and find_replies(row.get("output")):
                read_traces.add(id_of(row.get("id")) or id_of(row.get("traceid")))
                calls.append((row, place, file))
            elif not self._observations:
                calls.append((row, place, file))
        others = [one for one in self._observations if id_of(one[0].get("traceid")) not in read_traces - {None}]
        generations = [one for one in others if str(one[0].get("type", "")).lower() == "generation"]
        if not generations:
            generations = [one for one in others if not one[0].get("parentobservationid")]
        unread = len(self._observations) - len(generations)
        if unread:
            left_out["observations that are not read as replies"] += unread
        count = Counter(id_of(row.get("traceid")) for row, _, _ in generations)
        for row, place, file in (*calls, *generations):
            yield self._exchange(row, place, file, is_only=count[id_of(row.get("traceid"))] == 1)

    def _exchange(self, row: dict[str, Any], place: Place, file: File, is_only: bool) -> Exchange:
        name, trace = id_of(row.get("id")), id_of(row.get("traceid"))
        # The scores of a trace belong to its reply, if it has only one.
        targets = [name or trace or str(place), *([trace] if is_only and name and trace and trace != name else [])]
        named = (name_of(row.get(key)) for key in ("model", "providedmodelname"))
        model = next((m for m in named if m is not None), None) or self._models.get(name or trace or "")
        return Exchange(
            id=name or trace,
            place=place,
            file=file,
            prompt=find_prompt(row.get("input")),
            replies=find_replies(row.get("output")),
            model=model or name_of(row.get("name")) or name_of(row.get("tracename")),
            session=id_of(row.get("sessionid"))
            or self._sessions.get(trace or "")
            or (trace if trace != name else None),
            time=row.get("timestamp") or row.get("starttime"),
            ratings=tuple(rating for target in targets for rating in self._scores.get(target, ())),
        )


def _parse_scores(value: Any, left_out: Counter[str]) -> Iterator[LogRating]:
    """Yield scores: objects with name and value, or values by name; those of an evaluator are named "eval"."""
    for score in value if isinstance(value, list) else [value]:
        is_evaluator = isinstance(score, dict) and str(score.get("source", "")).upper() == "EVAL"
        yield from parse_ratings("score", score, left_out, "eval" if is_evaluator else None)


def _score_columns(entry: dict[str, Any]) -> Iterator[LogRating]:
    """Yield the scores that a table has in columns of their own: lists of numbers or words."""
    for name, value in entry.items():
        if fold_keys({name: None}).keys() & _KNOWN or not isinstance(value, list) or not value:
            continue
        numbers = [parse_value(one) for one in value]
        if None not in numbers:
            yield from (LogRating(name, number) for number in numbers if number is not None)
