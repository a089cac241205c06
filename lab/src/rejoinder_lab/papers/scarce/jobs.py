"""The slow part of `reproduce scarce` on another machine: what to paraphrase and to adapt, as files there and back.

    python -m rejoinder_lab.papers.scarce.jobs dump jobs.jsonl          here: write the jobs (--only KIND: some of them)
    python -m rejoinder_lab.papers.scarce.jobs run jobs.jsonl out.jsonl there, with a GPU; opus-mt-fr or smollm2-135m
    python -m rejoinder_lab.papers.scarce.jobs load out.jsonl           here: into the caches
    python -m rejoinder_lab.papers.scarce.jobs known                    here: how many texts the caches cover
    python -m rejoinder_lab.papers.scarce.jobs paraphrases              here: score with paraphrases, add to the store
    python -m rejoinder_lab.papers.scarce.jobs store --adapt N          here: score everything again, store the scores

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
from rejoinder.augmentation.paraphrase import paraphrase
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import cached_back_translation
from rejoinder.errors import InputError
from rejoinder.paths import cache_home
from rejoinder.types import Turn
from rejoinder_lab.papers.requirements import use_paper_weights
from rejoinder_lab.papers.scarce.proposals import RETRIEVAL, list_adaptations
from rejoinder_lab.papers.scarce.sets import BACK_TRANSLATION

Job: TypeAlias = dict[str, Any]
PARAPHRASES, ADAPTATIONS = FOLDERS = ("paraphrases", "adaptations")  # of the cache; the kinds of jobs
_AT_ONCE = 512  # texts that are paraphrased or adapted before results are written


def list_scarce_jobs(only: str | None = None) -> list[Job]:
    """Return the texts to paraphrase and those to adapt, the most important first, or one kind; does not need torch."""
    listed = {PARAPHRASES: list_paraphrase_jobs, ADAPTATIONS: list_adaptation_jobs}
    return [job for kind, list_jobs in listed.items() if only in (None, kind) for job in list_jobs()]


def list_paraphrase_jobs() -> list[Job]:
    """Return the human references, each text once."""
    from rejoinder_lab.papers.scarce.scarce import read_published_references
    from rejoinder_lab.papers.scarce.sets import list_plain_texts

    published = read_published_references()
    texts = (text for one in (published.single, published.multi) for _, text in list_plain_texts(one))
    return [{"paraphrase": text} for text in dict.fromkeys(texts)]


def list_adaptation_jobs() -> list[Job]:
    """Return the retrieved texts with their contexts, the first of every item first."""
    from rejoinder_lab.papers.scarce.scarce import items_to_augment, retrieve_chosen

    items = items_to_augment()
    retrieved = retrieve_chosen(items)
    return [
        {"context": _plain_turns(items[at.item].context), "text": retrieved[at.item][at.rank].text}
        for at in list_adaptations(retrieved)
    ]


def run_jobs(jobs: Iterable[Job], write: Callable[[bytes], object], log: Callable[[str], object]) -> None:
    """Run jobs in their order and write each result as soon as it is there."""
    cache = _CacheReader(write)
    begun = time.perf_counter()
    texts: list[str] = []
    pairs: list[tuple[Sequence[Turn], Proposal]] = []
    for job in jobs:
        if "paraphrase" in job:
            texts.append(job["paraphrase"])
        else:
            context = tuple(Turn(text, speaker) for speaker, text in job["context"])
            pairs.append((context, Proposal(job["text"], RETRIEVAL)))

    def finish(done: int, verb: str) -> None:
        cache.copy()
        log(f"{time.perf_counter() - begun:6.1f} s: {done:,} texts {verb}")

    for start in range(0, len(texts), _AT_ONCE):
        try:
            paraphrase(texts[start : start + _AT_ONCE], cached_back_translation(BACK_TRANSLATION, _AT_ONCE))
        finally:  # what was written before an error is not lost
            finish(min(start + _AT_ONCE, len(texts)), "paraphrased")
    for start in range(0, len(pairs), _AT_ONCE):
        try:
            adapt(pairs[start : start + _AT_ONCE])
        finally:
            finish(min(start + _AT_ONCE, len(pairs)), "adapted")


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
@click.option("--only", type=click.Choice(FOLDERS), help="Only jobs of this kind.")
def _dump(file: Path, only: str | None) -> None:
    """Write the jobs to a file."""
    jobs = list_scarce_jobs(only)
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
    from rejoinder_lab.papers.scarce.scarce import count_cached, items_to_augment, retrieve_chosen

    items = items_to_augment()
    first, whole = count_cached(items, retrieve_chosen(items))
    click.echo(f"the first {first:,} of {whole:,} texts are adapted")


@program.command("paraphrases")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), help="The file; by default the package's own.")
def _paraphrases(path: Path | None) -> None:
    """Score with paraphrases alone, and add the scores to those that are stored."""
    from rejoinder.data.inputs import read
    from rejoinder_lab.papers.scarce.measures import collect_rated
    from rejoinder_lab.papers.scarce.scarce import add_paraphrases
    from rejoinder_lab.papers.scarce.stored import PATH, read_stored, write_stored

    replies = collect_rated(read("dataset:gupta/single"))
    added = add_paraphrases(read_stored(PATH), replies, cached_back_translation(BACK_TRANSLATION))
    write_stored(added, path or PATH)
    click.echo(f"written: {path or PATH}")


@program.command("store")
@click.option("--adapt", "most", type=click.IntRange(min=0), required=True, help="How many texts are adapted.")
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), help="The file; by default the package's own.")
def _store(most: int, path: Path | None) -> None:
    """Augment and score again, and store what the tables are made from."""
    from rejoinder.data.inputs import read
    from rejoinder_lab.papers.scarce.measures import collect_rated
    from rejoinder_lab.papers.scarce.scarce import compute_scarce
    from rejoinder_lab.papers.scarce.stored import PATH, write_stored

    write_stored(compute_scarce(collect_rated(read("dataset:gupta/single")), most), path or PATH)
    click.echo(f"written: {path or PATH}")


if __name__ == "__main__":
    with use_paper_weights():
        program()
