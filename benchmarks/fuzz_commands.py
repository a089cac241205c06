"""Every command that reads a file, with one of its files damaged: a result or one line of error, and nothing left behind."""

from __future__ import annotations

import collections
import contextlib
import json
import random
import re
import shlex
import shutil
import signal
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from benchmarks.fuzz_damage import damage
from benchmarks.fuzz_inputs import Ending, inside, make_inputs, run

SECONDS = 20  # a command on files of some lines that takes longer hangs
_LONGEST = 1_500  # characters of a line of error
_LONE = re.compile("[\x00-\x08\x0b-\x1f\x7f\x9b\ud800-\udfff]")


class Case(NamedTuple):
    """A command line and the inputs that it needs; the files among ``damaged`` are those that may be damaged."""

    words: str
    inputs: str
    damaged: str = ""  # all inputs where nothing is said
    refusal: str = ""  # what the error says with valid inputs, of a command that needs more than files
    heavy: bool = False  # takes half a second or more: tried less often


_ONE = "--processes 1"
_FIELDS = "--field reference=good --field rating:fun=score"
CASES = (
    Case(f"score chats.jsonl -m bleu -m length -m distinct -o out --no-cache --matched --dialogues --format json {_ONE}", "chats.jsonl"),
    Case(f"score openai.jsonl -m length -m context_overlap -o out --no-cache --format json {_ONE}", "openai.jsonl"),
    Case(f"score chats.parquet -m rouge_l -m self_bleu -o out --no-cache --format json {_ONE}", "chats.parquet"),
    Case(f"score shards-in -m length -o out --no-cache --format json {_ONE}", "parquet-shards:shards-in"),
    Case(f"score chats.jsonl -m judge(rubric='rubric.toml') -o out --no-cache {_ONE}", "chats.jsonl rubric.toml", "rubric.toml", "rejoinder models get"),
    Case(f"score - -m chrf -o out --no-cache --empty nan --format json {_ONE} <chats.jsonl", "chats.jsonl"),
    Case("compare run --format json", "run"),
    Case("compare chats.jsonl --preferences --format json", "chats.jsonl"),
    Case(f"trust run --resamples 100 --format json {_ONE}", "run"),
    Case(f"trust run --resamples 100 --method kendall --test permutation --aspect apt --format json {_ONE}", "run"),
    Case("check run --min bleu>=0.1 --no-worse-than old", "run old"),
    Case("report run -o out.html", "run"),
    Case("report run --format json", "run"),
    Case("report selected --format json", "selected"),
    Case("explain chats.jsonl --response i0/a -m bleu --format json", "chats.jsonl"),
    Case("agreement chats.jsonl --resamples 100 --format json", "chats.jsonl"),
    Case("agreement run --resamples 100 --above 2 --scale ratio --format json", "run", "run/data.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --all", "chats.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --method dawid_skene", "chats.jsonl"),
    Case("aggregate chats.jsonl -o out.jsonl --method minimax_entropy_ordinal", "chats.jsonl", heavy=True),
    Case("power chats.jsonl --aspect apt --difference 0.5 --format json", "chats.jsonl"),
    Case("power run -m bleu --format json", "run"),
    Case("next old -n 3 --by metrics -o out.csv --format json", "old"),
    Case("next chats.jsonl --aspect apt -n 3 -o out.jsonl --format json", "chats.jsonl"),
    Case("judge run -o out.jsonl --format json", "run", refusal="no judge"),
    Case(f"import csv table.csv -o out.jsonl {_FIELDS}", "table.csv"),
    Case(f"import tsv table.tsv -o out.jsonl {_FIELDS}", "table.tsv"),
    Case(f"import jsonl rows.jsonl -o out.jsonl {_FIELDS} --field rater=who --empty keep", "rows.jsonl"),
    Case("import openai openai.jsonl -o out.jsonl", "openai.jsonl"),
    Case("import dailydialog daily.txt -o out.jsonl --as items", "daily.txt"),
    Case("import parlai parlai.txt -o out.jsonl", "parlai.txt"),
    Case("import convokit corpus -o out.jsonl", "corpus"),
    Case("import dstc10 dstc10.json -o out.jsonl", "dstc10.json"),
    Case("import parquet table.parquet -o out.jsonl --field response=response --field context=context", "table.parquet"),
    Case(f"import huggingface saved -o out.jsonl {_FIELDS}", "saved"),
    Case("augment chats.jsonl --corpus dialogues.jsonl --no-comet -k 2 -o out.jsonl --format json", "chats.jsonl dialogues.jsonl"),
    Case("augment chats.jsonl --corpus dialogues.jsonl --knowledge atomic.tsv --no-comet -k 2 -o out.jsonl --review out.csv", "chats.jsonl dialogues.jsonl atomic.tsv", "atomic.tsv"),
    Case("augment more.jsonl --reviewed review.csv -o out.jsonl", "more.jsonl review.csv"),
    Case("propose chats.jsonl --corpus dialogues.jsonl --source same_partner -k 2 -o out.jsonl", "chats.jsonl dialogues.jsonl"),
    Case("build out.jsonl --from dialogues.jsonl --repository utterances.txt --source bm25(query='reply') --judge-with none --second none --pool 4 --false 1 --format json", "dialogues.jsonl utterances.txt"),
    Case("build out.jsonl --pools set.pools.jsonl --people sheet.csv --judge-with none --false 1 --format json", "set.pools.jsonl set.pools.card.json sheet.csv"),
    Case("build out.jsonl --from dialogues.jsonl --repository dialogues.jsonl --random --format json", "dialogues.jsonl"),
    Case("select questions.jsonl --system tfidf -o out --turned 2 --format json", "questions.jsonl"),
    Case("select selected --format json", "selected"),
    Case("rank graded.jsonl --ranker tfidf -o out --write orders.jsonl --format json", "graded.jsonl"),
    Case("rank graded.jsonl --ranker tfidf --train questions.jsonl -o out --all-questions --format json", "graded.jsonl questions.jsonl"),
    Case("label questions.jsonl --suggest -o out.jsonl", "questions.jsonl"),
    Case("label questions.jsonl --from labels.csv -o out.jsonl", "questions.jsonl labels.csv"),
    Case("label questions.jsonl --measure --format json", "questions.jsonl"),
    Case("export questions.jsonl --to lm-eval -o out", "questions.jsonl"),
    Case("export questions.jsonl --to inspect -o out", "questions.jsonl"),
    Case("situate seeds situated.jsonl -o out.jsonl", "situated.jsonl"),
    Case("situate build seeds.jsonl -o out.jsonl --rounds 0 --statements 2 --format json --contradictions keywords.toml", "seeds.jsonl keywords.toml"),
    Case("situate project grade situated.jsonl -o out.toml --write-csv out.csv", "situated.jsonl"),
    Case("situate project complete seeds.jsonl -o out.toml", "seeds.jsonl"),
    Case("situate grade situated.jsonl --people grades.csv -o out.jsonl", "situated.jsonl grades.csv"),
    Case("annotate project.toml --no-serve --raters ann,bob --database out.db", "project.toml chats.jsonl"),
    Case("annotate project.toml --import crowdkit --file said.csv --database out.db", "project.toml chats.jsonl said.csv"),
    Case("annotate project.toml --export labelstudio --file out.json --database out.db", "project.toml chats.jsonl"),
    Case("agreement project.toml --resamples 100 --format json", "project.toml chats.jsonl chats.sqlite", "project.toml chats.jsonl"),
    Case("index build dialogues.jsonl -o out", "dialogues.jsonl"),
    Case("index search index tea --format json", "index"),
    Case("index add index later.jsonl", "index later.jsonl"),
    Case("index check index", "index"),
    Case("shards write chats.jsonl -o out --records 10", "chats.jsonl"),
    Case(f"shards check shards {_ONE}", "shards"),
    Case(f"shards catalogue parquet-shards {_ONE}", "parquet-shards"),
    Case("speakers dialogues.jsonl --encoder tfidf --sets 20 -o out.svg --format json", "dialogues.jsonl"),
    Case("embed utterances.txt -o out.npy", "utterances.txt"),
    Case("embed dialogues.jsonl -o out.parquet", "dialogues.jsonl", heavy=True),
    Case("attack dialogues.jsonl -m length -m context_overlap --contexts 5 --split train -o out.json --format json", "dialogues.jsonl"),
    Case("train idk dialogues.jsonl -o out --contexts 3", "dialogues.jsonl"),
    Case("train ssrem --corpus dialogues.jsonl -o out --epochs 1", "dialogues.jsonl", heavy=True),
    Case("train comet atomic.tsv --valid atomic.tsv -o out", "atomic.tsv", refusal="rejoinder models get"),
    Case("train ranker --train graded.jsonl --valid held.jsonl -o out --encoder hf:nowhere --kind cross", "graded.jsonl held.jsonl", refusal="nowhere"),
    Case("data write dailydialog/test -o out.jsonl --no-verify", "daily.txt:corpora/dailydialog/dialogues_test.txt"),
    Case("data show dailydialog/test", "daily.txt:corpora/dailydialog/dialogues_test.txt"),
)  # fmt: skip


_LIGHT = tuple(case for case in CASES if not case.heavy)
_ROUND = (*_LIGHT * 10, *(case for case in CASES if case.heavy))


class Hang(BaseException):
    """A command that takes too long; nothing in it can catch this by mistake."""


def _stop(signum: int, frame: FrameType | None) -> None:
    raise Hang


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise Hang where a block takes longer."""
    before = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def listing(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def copy_inputs(case: Case, inputs: Path, target: Path) -> None:
    """The inputs of a case, each under its name or, written ``NAME:PATH``, under another."""
    for one in case.inputs.split():
        name, _, path = one.partition(":")
        to = target / (path or name)
        to.parent.mkdir(parents=True, exist_ok=True)
        if (inputs / name).is_dir():
            shutil.copytree(inputs / name, to)
        else:
            shutil.copy(inputs / name, to)


def prepare(seed: int, inputs: Path, target: Path) -> tuple[Case, str]:
    """The case of a seed with its inputs in a folder, one of them damaged, and how."""
    r = random.Random(f"commands/{seed}")
    case = _ROUND[seed % len(_ROUND)]
    copy_inputs(case, inputs, target)
    chosen = case.damaged.split() or [one.partition(":")[2] or one for one in case.inputs.split()]
    files = sorted(path for path in target.rglob("*") if path.is_file() and _within(path, target, chosen))
    path = r.choice(files)
    others = sorted(one for one in inputs.rglob("*") if one.is_file())
    how = [damage(path, others, r)]
    if path.is_file() and r.random() < 0.2:
        how.append(damage(path, others, r))
    return case, f"{path.relative_to(target)}: {' and '.join(how)}"


def _within(path: Path, target: Path, chosen: Sequence[str]) -> bool:
    return any(path == target / one or (target / one) in path.parents for one in chosen)


def run_case(case: Case, folder: Path) -> tuple[Ending, list[str]]:
    """Run a case in its folder; also the warnings that Python gave."""
    words, _, source = case.words.partition(" <")
    given = b""
    if source and (folder / source).is_file():
        given = (folder / source).read_bytes()
    with inside(folder), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ended = run(words.split(), given)
    told = [f"{one.category.__name__}: {one.message}" for one in caught]
    return ended, [one for one in told if not one.startswith(("DeprecationWarning", "ImportWarning"))]


def complaint(case: Case, ended: Ending, told: Sequence[str], folder: Path, before: set[str]) -> str | None:
    """What is wrong with how a command ended; None where all is well."""
    if ended.crash:
        return f"traceback: {ended.crash}"
    if ended.status not in (0, 1, 2):
        return f"exit status {ended.status}: {ended.err[-300:]!r}"
    if told:
        return f"warnings: {sorted(set(told))[:3]}"
    if ended.status == 2 and (wrong := _error_of(ended.err)):
        return wrong
    new = listing(folder) - before
    if ended.status == 2 and new and not _stays(case, new):
        return f"left behind: {sorted(new)[:4]}"
    if ended.status == 0:
        if hidden := [name for name in new if "/." in f"/{name}" or name.endswith((".part", ".tmp"))]:
            return f"left behind: {hidden[:4]}"
        shown = [ended.out] if "--format json" in case.words else []
        written = [folder / name for name in sorted(new) if name.endswith((".json", ".jsonl"))]
        return next(filter(None, [*map(_whole, shown), *(_lines(path) for path in written)]), None)
    return None


def _stays(case: Case, new: set[str]) -> bool:
    """Whether what an error leaves is what a user wants to have: a database that was opened."""
    return case.words.startswith("annotate") and all(name.startswith("out.db") for name in new)


def _error_of(err: str) -> str | None:
    errors = [line for line in err.split("\n") if line.startswith("rejoinder: ")]
    if len(errors) != 1 or not err.endswith(errors[0] + "\n"):
        return f"not one line of error at the end: {err[-300:]!r}"
    said = errors[0].removeprefix("rejoinder: ").strip()
    if len(said) < 10 or len(said) > _LONGEST or _LONE.search(said):
        return f"an error that is empty, too long or cannot be shown: {said[:300]!r}"
    return None


def _number(text: str) -> Any:
    raise ValueError(f"{text} in JSON")


def _whole(text: str) -> str | None:
    try:
        value = json.loads(text, parse_constant=_number)
        return "an infinite number in JSON" if "Infinity" in json.dumps(value) else None
    except ValueError as error:
        return f"output is no JSON ({error}): {text[:200]!r}"


def _lines(path: Path) -> str | None:
    text = path.read_text(encoding="utf-8")
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        if found := _whole(part):
            return f"{path.name}: {found}"
    return None


def try_seeds(seeds: Sequence[int]) -> tuple[collections.Counter[str], list[str]]:
    """One command with one damaged file a seed: how they ended, and what went wrong."""
    ended: collections.Counter[str] = collections.Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        for seed in seeds:
            found, status = try_seed(seed, inputs, Path(scratch) / "work")
            ended[status] += 1
            if found:
                wrong.append(f"commands {seed}: {found}")
    return ended, wrong


def try_seed(seed: int, inputs: Path, folder: Path) -> tuple[str | None, str]:
    """The complaint about a seed, if any, and how its command ended."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tmp").mkdir(parents=True)
    target = folder / "in"
    target.mkdir()
    case, how = prepare(seed, inputs, target)
    before = listing(target)
    kept, tempfile.tempdir = tempfile.tempdir, str(folder / "tmp")
    try:
        with limit(SECONDS):
            ended, told = run_case(case, target)
    except Hang:
        return f"{shlex.join(case.words.split())} ({how}): takes longer than {SECONDS} s", "hang"
    finally:
        tempfile.tempdir = kept
    found = complaint(case, ended, told, target, before)
    if found is None and (left := listing(folder / "tmp")):
        found = f"left in the folder for temporary files: {sorted(left)[:4]}"
    status = {0: "result", 1: "status 1", 2: "one line of error"}.get(ended.status or 0, "other")
    return found and f"{shlex.join(case.words.split())} ({how}): {found}", status


def check_cases() -> list[str]:
    """The cases whose command fails with undamaged inputs: they would try nothing."""
    failing = []
    with tempfile.TemporaryDirectory() as scratch:
        inputs = Path(scratch) / "inputs"
        inputs.mkdir()
        make_inputs(inputs)
        for number, case in enumerate(CASES):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            copy_inputs(case, inputs, folder)
            before = listing(folder)
            ended, told = run_case(case, folder)
            wrong = complaint(case, ended, told, folder, before)
            expected = case.refusal in ended.err if case.refusal else ended.status != 2
            if wrong or not expected:
                failing.append(f"{case.words}: {ended.status}, {ended.err[-300:]}, {wrong}")
    return failing
