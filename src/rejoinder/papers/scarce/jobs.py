"""The slow part of `reproduce scarce` on another machine: what to generate and adapt, as files there and back.

    python -m rejoinder.papers.scarce.jobs dump jobs.jsonl          here: write the jobs
    python -m rejoinder.papers.scarce.jobs run jobs.jsonl out.jsonl there, with a GPU and smollm2-135m in the cache
    python -m rejoinder.papers.scarce.jobs load out.jsonl           here: into the caches
    python -m rejoinder.papers.scarce.jobs known                    here: how many texts the caches cover

A result is a line of a cache and the name of its file there. Keys are digests of content, so a line is valid on any
machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click
import orjson

from rejoinder.augmentation.adaptation import adapt
from rejoinder.augmentation.commonsense.inference import TailGenerator
from rejoinder.augmentation.commonsense.persons import resolve_second_person, resolve_third_person
from rejoinder.augmentation.commonsense.templates import SentenceWriter
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import cached_comet
from rejoinder.errors import InputError
from rejoinder.papers.scarce.proposals import (
    COMET,
    ORDER,
    close_punctuation,
    generate_proposals,
    list_adaptations,
    space_punctuation,
)
from rejoinder.paths import cache_home
from rejoinder.types import Item, Turn

Job: TypeAlias = dict[str, Any]
FOLDERS = ("tails", "adaptations")  # of the cache
_AT_ONCE = 512  # texts that are adapted before results are written


class _RecordingGenerator:
    """A generator that returns nothing and records the questions."""

    def __init__(self) -> None:
        self.questions: dict[tuple[str, int], list[str]] = {}

    def tails(self, heads: Sequence[str], relation: str, n: int = 5) -> list[list[str]]:
        self.questions.setdefault((relation, n), []).extend(heads)
        return [[] for _ in heads]


def list_scarce_jobs() -> list[Job]:
    """Return everything to generate or adapt, the most important first; does not need torch.

    Kinds: `tails` (events to ask COMET about), `adapt` (a text and its context), and `infer`, the sentences that
    common sense makes of the tails, which are to be adapted too but are known only when the tails are.
    """
    from rejoinder.papers.scarce.scarce import items_to_augment, propose_from_sources

    items = items_to_augment()
    recorder = _RecordingGenerator()
    proposals: dict[str, Any] = dict(propose_from_sources(items, recorder))
    jobs: list[Job] = [
        {"kind": "tails", "relation": relation, "n": n, "heads": heads}
        for (relation, n), heads in recorder.questions.items()
    ]
    for source in ORDER:
        if source == COMET:
            jobs += _list_inference_jobs(items)
        for place in list_adaptations({source: proposals[source]}):
            proposal = proposals[source][place.item][place.rank]
            jobs.append({"kind": "adapt", "context": _plain_turns(items[place.item].context), "text": proposal.text})
    return jobs


def _list_inference_jobs(items: Sequence[Item]) -> Iterator[Job]:
    for item in items:
        recorder = _RecordingGenerator()
        generate_proposals([item], recorder)
        questions = [(relation, n, heads[0]) for (relation, n), heads in recorder.questions.items()]
        if questions:
            yield {"kind": "infer", "context": _plain_turns(item.context), "questions": questions}


def run_jobs(jobs: Iterable[Job], write: Callable[[bytes], object], report: Callable[[str], object]) -> None:
    """Run jobs in their order and write each result as soon as it is there."""
    cache, tails = _CacheReader(write), cached_comet()
    begun = time.perf_counter()
    waiting: list[tuple[Sequence[Turn], Proposal]] = []
    done = 0

    def do(most: int) -> None:
        nonlocal done, waiting
        while len(waiting) >= most:
            part, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            adapt(part)
            done += len(part)
            cache.copy()
            report(f"{time.perf_counter() - begun:6.1f} s: {done:,} texts adapted")

    for job in jobs:
        if job["kind"] == "tails":
            tails.tails(job["heads"], job["relation"], job["n"])
            cache.copy()
            report(f"{time.perf_counter() - begun:6.1f} s: tails of {len(job['heads'])} events, {job['relation']}")
            continue
        context = tuple(Turn(text, speaker) for speaker, text in job["context"])
        texts = [job["text"]] if job["kind"] == "adapt" else _infer_sentences(context, job["questions"], tails)
        waiting += [(context, Proposal(text, job["kind"])) for text in texts]
        do(_AT_ONCE)
    do(1)


def _infer_sentences(
    context: tuple[Turn, ...], questions: Sequence[tuple[str, int, str]], tails: TailGenerator
) -> list[str]:
    """All common-sense sentences for a context, even those with the text of a reference."""
    item, sentences = Item("", close_punctuation(context)), SentenceWriter()
    texts = []
    for relation, n, head in questions:
        for tail in tails.tails([head], relation, n)[0]:
            if (
                text := sentences.write(relation, tail, resolve_second_person(item), resolve_third_person(item))
            ) is not None:
                texts.append(space_punctuation(text))
    return texts


class _CacheReader:
    """Reads the lines that are added to the caches."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._read_to: dict[Path, int] = {}

    def copy(self) -> None:
        """Write the lines that were added since the last call."""
        for path in sorted(path for folder in FOLDERS for path in (cache_home() / folder).glob("*.jsonl")):
            start = self._read_to.get(path, 0)
            with path.open("rb") as file:
                file.seek(start)
                whole = file.read().rpartition(b"\n")[0]
            for line in whole.splitlines():
                if line.strip():
                    result = {"file": f"{path.parent.name}/{path.name}", "line": orjson.loads(line)}
                    self._write(orjson.dumps(result, option=orjson.OPT_APPEND_NEWLINE))
            self._read_to[path] = start + len(whole)


def fill_caches(results: Iterable[Job]) -> dict[str, int]:
    """Add results to the caches, without lines that are already there; return how many lines each file got."""
    added: dict[str, int] = {}
    files: dict[str, list[bytes]] = {}
    for result in results:
        files.setdefault(str(result["file"]), []).append(orjson.dumps(result["line"]))
    for name, lines in files.items():
        folder, _, plain = name.partition("/")
        if folder not in FOLDERS or not plain.endswith(".jsonl") or Path(plain).name != plain:
            raise InputError(
                f"{name!r} is not a file of the caches {' and '.join(FOLDERS)}; load the file that `run` wrote"
            )
        path = cache_home() / folder / plain
        known = set(path.read_bytes().splitlines()) if path.exists() else set()
        new = [line for line in dict.fromkeys(lines) if line not in known]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(b"\n" * bool(new) + b"\n".join(new) + b"\n" * bool(new))
        added[name] = len(new)
    return added


def _plain_turns(turns: Sequence[Turn]) -> list[tuple[str | None, str]]:
    return [(turn.speaker, turn.text) for turn in turns]


def _read_objects(path: Path) -> Iterator[Job]:
    """The objects in a file; an incomplete last line is left out."""
    for line in path.read_bytes().splitlines():
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError:
            continue


@click.group(help=__doc__)
def program() -> None:
    """The steps, as commands."""


@program.command("dump")
@click.argument("file", type=click.Path(path_type=Path))
def _dump(file: Path) -> None:
    """Write the jobs to a file."""
    jobs = list_scarce_jobs()
    file.write_bytes(b"".join(orjson.dumps(job, option=orjson.OPT_APPEND_NEWLINE) for job in jobs))
    click.echo(f"{len(jobs):,} jobs in {file}")


@program.command("run")
@click.argument("file", type=click.Path(path_type=Path, exists=True))
@click.argument("out", type=click.Path(path_type=Path))
def _run(file: Path, out: Path) -> None:
    """Run the jobs, and write results as they come."""
    with out.open("wb", buffering=0) as target:
        run_jobs(_read_objects(file), target.write, click.echo)


@program.command("load")
@click.argument("file", type=click.Path(path_type=Path, exists=True))
def _load(file: Path) -> None:
    """Put the results into the caches."""
    for name, count in fill_caches(_read_objects(file)).items():
        click.echo(f"{count:,} new lines in {name}")


@program.command("known")
def _known() -> None:
    """Print how many texts are already adapted: --adapt up to that number costs nothing."""
    from rejoinder.papers.scarce.scarce import count_cached, items_to_augment, propose_from_sources

    items = items_to_augment()
    first, whole = count_cached(items, propose_from_sources(items, cached_comet()))
    click.echo(f"the first {first:,} of {whole:,} texts are adapted")


if __name__ == "__main__":
    program()
