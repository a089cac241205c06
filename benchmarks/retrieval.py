"""Finding the five nearest of all 838,860 turns of the corpus by BM25, beside rank-bm25, gensim, bm25s and tantivy."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.synthetic import sentences
from rejoinder.data.reader import stream
from rejoinder.indexes.one_field.base import Passage, passages
from rejoinder.indexes.one_field.bm25 import Bm25Index
from rejoinder.paths import data_home
from rejoinder.text.tokens import tokenize
from rejoinder.types import Dialogue, Turn

TURNS = 838_860
EVERY = 8  # rank-bm25 and gensim are given one turn in so many: all would take them minutes and gigabytes
QUERIES, K = 40, 5
FLOORS = {"rank-bm25's BM25Okapi": 500, "gensim's AtireBM25Model": 14}  # times as fast; the others have no floor
_BUILD = """
import resource, sys, time
from benchmarks.retrieval import build, ours

begun = time.perf_counter()
index = build(sys.argv[1])
seconds = time.perf_counter() - begun
for hit in index.search(["how are you"], 1000)[0]:
    ours(index)(hit.text)
print("DONE", seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_OPEN = """
import sys, time
begun = time.perf_counter()
from rejoinder.indexes.one_field.bm25 import Bm25Index
Bm25Index.open(sys.argv[1]).search(["how are you"])
print("DONE", time.perf_counter() - begun)
"""


def turns() -> Iterator[Passage]:
    """Every turn of the corpus; where it is not here, as many made-up ones."""
    file = data_home() / "corpora" / "dialogues.jsonl.gz"
    if file.is_file():
        return passages(record for record in stream(file) if isinstance(record, Dialogue))
    texts = sentences(TURNS)
    return passages(Dialogue(f"d{start}", tuple(map(Turn, texts[start : start + 6]))) for start in range(0, TURNS, 6))


def build(folder: str) -> Bm25Index:
    """The index over all turns."""
    return Bm25Index.build(turns(), folder)


def ours(index: Bm25Index) -> Callable[[str], object]:
    return lambda query: index.search([query], K)


def rank_bm25(texts: list[str]) -> Callable[[str], object]:
    model = import_module("rank_bm25").BM25Okapi([tokenize(text, "words") for text in texts])
    return lambda query: model.get_top_n(tokenize(query, "words"), texts, K)


def gensim(texts: list[str]) -> Callable[[str], object]:
    models = import_module("gensim.models")
    tokens = [tokenize(text, "words") for text in texts]
    words = import_module("gensim.corpora").Dictionary(tokens)
    bags = [words.doc2bow(document) for document in tokens]
    model = models.AtireBM25Model(corpus=bags, k1=0.5, b=0.7)
    similarity = import_module("gensim.similarities").SparseMatrixSimilarity(
        model[bags],
        num_docs=len(bags),
        num_terms=len(words),
        normalize_queries=False,
        normalize_documents=False,
        num_best=K,
    )
    weigh = models.TfidfModel(
        dictionary=words, smartirs="bnn"
    )  # as gensim's own example has it: a query's words count once
    return lambda query: similarity[weigh[words.doc2bow(tokenize(query, "words"))]]


def bm25s(texts: list[str]) -> Callable[[str], object]:
    model = import_module("bm25s").BM25(k1=0.5, b=0.7)
    model.index([tokenize(text, "words") for text in texts], show_progress=False)
    return lambda query: model.retrieve([list(tokenize(query, "words"))], k=K, show_progress=False)


def tantivy(texts: list[str]) -> Callable[[str], object]:
    """The search engine in Rust; its own k1 and b are fixed (1.2 and 0.75)."""
    library = import_module("tantivy")
    fields = library.SchemaBuilder()
    fields.add_text_field("text", tokenizer_name="whitespace")
    index = library.Index(fields.build())
    writer = index.writer(200_000_000, 1)
    for text in texts:
        writer.add_document(library.Document(text=" ".join(tokenize(text, "words"))))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    schema = index.schema

    def search(query: str) -> object:
        words = [library.Query.term_query(schema, "text", word) for word in tokenize(query, "words")]
        return searcher.search(library.Query.boolean_query([(library.Occur.Should, word) for word in words]), K)

    return search


def measure() -> list[dict[str, Any]]:
    """Milliseconds of CPU time a query, one query at a time, by turns with the others."""
    every = [passage.text for passage in turns()]
    texts = every[::EVERY]
    with tempfile.TemporaryDirectory() as name:
        folder = f"{name}/index"
        seconds, peak = _alone(_BUILD, folder)
        opened = min(_alone(_OPEN, folder)[0] for _ in range(3))
        index = Bm25Index.open(folder)
        calls = {
            "rejoinder": ours(index),
            "rank-bm25's BM25Okapi": rank_bm25(texts),
            "gensim's AtireBM25Model": gensim(texts),
            "bm25s": bm25s(every),
        }
        if find_spec("tantivy") is not None:  # not among the development libraries: pip install tantivy
            calls["tantivy"] = tantivy(every)
        mine, *theirs = _race(calls, random.Random(0).sample(texts, QUERIES)).items()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    return [
        *(_entry(len(index), len(texts if name in FLOORS else every), mine[1], name, spent) for name, spent in theirs),
        _limit(f"peak memory of indexing {len(index):,} turns and searching them", peak * 1024 / 1e9, "GB", 3.0),
        _limit("opening that index in a fresh process, with imports and a search", opened, "s", 1.0),
        _limit(f"indexing {len(index):,} turns ({size / 1e6:.0f} MB on disk)", seconds, "s", 90.0),
    ]


def _alone(program: str, folder: str) -> list[float]:
    """The numbers that a program of its own prints."""
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.rpartition("DONE")[2].split()]


def _race(calls: dict[str, Callable[[str], object]], queries: list[str]) -> dict[str, float]:
    """Milliseconds a query of each; they take turns of ten queries, so that a busy machine slows all."""
    spent = dict.fromkeys(calls, 0.0)
    for start in range(0, len(queries), 10):
        for name, call in calls.items():
            begun = time.process_time()
            for query in queries[start : start + 10]:
                call(query)
            spent[name] += time.process_time() - begun
    return {name: seconds / len(queries) * 1e3 for name, seconds in spent.items()}


def _entry(size: int, fewer: int, mine: float, other: str, theirs: float) -> dict[str, Any]:
    """One entry of the results; what those with fewer turns take grows with the turns."""
    scaled = theirs * size / fewer
    over = f" over {fewer:,} of them, {scaled:.1f} ms scaled linearly to all" if fewer < size else ""
    return {
        "name": f"finding the nearest {K} of {size:,} turns, beside {other}",
        "value": round(mine, 3),
        "unit": "ms/query",
        "against": f"{other}: {theirs:.1f} ms{over}",
        "ratio": round(scaled / mine, 1),
        "floor": FLOORS.get(other),
    }


def _limit(name: str, value: float, unit: str, most: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": round(value, 3),
        "unit": unit,
        "against": f"at most {most:g} {unit}",
        "ratio": round(value / most, 3),
        "floor": 1.0,
        "at_most": True,
    }


if __name__ == "__main__":
    for entry in measure():
        print(entry)
