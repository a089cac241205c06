"""Texts to vectors from the command line: the same bytes whoever computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import tiny_aptness
import tiny_models
from click.testing import CliRunner
from tiny_talks import talks

from rejoinder.cli import program
from rejoinder.data.writer import write
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.models.encoder import worker as embedding
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.encoder.probe_sentences import probe_texts
from rejoinder.models.encoder.worker import EmbeddingWorker, embed_texts
from rejoinder.types import Item, Response, Turn


def run(*typed: Any, status: int = 0) -> Any:
    done = CliRunner().invoke(program, ["embed", *(str(one) for one in typed)])
    if status == 0 and done.exception is not None:
        raise done.exception
    return done


@pytest.fixture
def encoder(tmp_path: Path) -> str:
    return str(tiny_models.write_exported_encoder(tmp_path / "encoder"))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    write(talks(40), tmp_path / "talks.jsonl")
    return tmp_path


def test_every_turn_has_its_vector_under_its_id(here: Path, encoder: str) -> None:
    told = run(here / "talks.jsonl", "-o", here / "out.npy", "--encoder", encoder, "-v").stderr
    assert "240 vectors of 16 numbers" in told
    assert "bytes per thousand; 0 failures, 0 retries" in told
    vectors = np.load(here / "out.npy")
    ids = [orjson.loads(line)["id"] for line in (here / "out.ids.jsonl").read_bytes().splitlines()]
    assert ids[:2] + ids[-1:] == ["d0/0", "d0/1", "d39/5"]
    texts = [turn.text for dialogue in talks(40) for turn in dialogue.turns]
    assert vectors.shape == (240, 16)
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, load_encoder(encoder, cache=False).encode(texts), atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_the_bytes_are_the_same_whatever_the_workers_and_threads(
    ending: str, here: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="the arrow extra is not installed")
    made = []
    for number, (workers, threads) in enumerate(((1, 1), (1, 3), (2, 1))):
        monkeypatch.setenv("REJOINDER_THREADS", str(threads))
        out = here / f"{number}.{ending}"
        run(here / "talks.jsonl", "-o", out, "--encoder", encoder, "--processes", workers)
        made.append(out.read_bytes())
    assert made[0] == made[1] == made[2]


def test_batches_do_not_depend_on_the_number_of_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_aptness.write(tmp_path / "tiny")
    texts = [*probe_texts()[:50], "so it is"]
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setenv("REJOINDER_THREADS", str(threads))
        worker = EmbeddingWorker(str(folder), load_encoder(str(folder), cache=False).digest, "float32")
        found.append(worker.compute(texts))
    assert found[0] == found[1] == found[2]


def test_texts_go_out_some_at_a_time_and_come_back_in_order(encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "AT_ONCE", 7)
    opened = load_encoder(encoder, cache=False)
    texts = probe_texts()[:40]
    blocks = list(embed_texts(iter(texts), opened, LocalEngine(2), "float16"))
    assert [len(block) for block in blocks] == [7] * 5 + [5]
    assert np.allclose(np.concatenate(blocks), opened.encode(texts), atol=1e-3)
    assert blocks[0].dtype == np.float16


def test_replies_lines_of_a_text_and_many_files_are_read(here: Path, encoder: str) -> None:
    item = Item("i", (Turn("how do you do"),))
    write([item, Response("r1", "i", "a", "fine thanks"), Response("r2", "i", "b", "no")], here / "replies.jsonl")
    run(here / "replies.jsonl", "-o", here / "r.npy", "--encoder", encoder)
    assert (here / "r.ids.jsonl").read_text() == '{"id":"r1"}\n{"id":"r2"}\n'
    (here / "lines.txt").write_text("fine thanks\n\nno\n", encoding="utf-8")
    run(here / "lines.txt", "-o", here / "l.npy", "--encoder", encoder)
    assert (here / "l.ids.jsonl").read_text() == '{"id":"1"}\n{"id":"2"}\n{"id":"3"}\n'
    assert np.allclose(np.load(here / "l.npy")[[0, 2]], np.load(here / "r.npy"), atol=1e-6)
    (here / "many").mkdir()
    for number in range(2):
        write(talks(3, seed=number), here / "many" / f"{number}.jsonl")
    run(here / "many", "-o", here / "m.npy", "--encoder", encoder)
    assert len(np.load(here / "m.npy")) == 36


def test_parquet_holds_ids_and_vectors(here: Path, encoder: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the arrow extra is not installed")
    run(here / "talks.jsonl", "-o", here / "out.parquet", "--encoder", encoder, "--precision", "float16")
    run(here / "talks.jsonl", "-o", here / "out.npy", "--encoder", encoder, "--precision", "float16")
    table = parquet.read_table(here / "out.parquet")
    assert table.column("id").to_pylist()[0] == "d0/0"
    assert np.array_equal(np.stack(table.column("vector").to_numpy()), np.load(here / "out.npy"))


def test_what_cannot_be_done_is_said_in_one_sentence(here: Path, encoder: str) -> None:
    for typed, error, said in (
        ((here / "talks.jsonl", "-o", here / "x.csv"), InputError, "written as .npy or .parquet"),
        ((here / "nothing.jsonl", "-o", here / "x.npy"), InputError, "no such file"),
        ((here / "nothing.txt", "-o", here / "x.npy"), InputError, "cannot be read"),
        (
            (here / "talks.jsonl", "-o", here / "x.npy", "--encoder", "aptnes"),
            SpecError,
            "no encoder and no folder",
        ),
    ):
        done = run(*typed, status=2)
        assert isinstance(done.exception, error), done.exception
        assert said in str(done.exception)
    write([Item("i", (Turn("hello"),))], here / "items.jsonl")
    done = run(here / "items.jsonl", "-o", here / "x.npy", "--encoder", encoder, status=2)
    assert "there is no text to encode" in str(done.exception)
    (here / "bytes.txt").write_bytes(b"\xff\xfe")
    assert "is not valid UTF-8" in str(
        run(here / "bytes.txt", "-o", here / "x.npy", "--encoder", encoder, status=2).exception
    )
    assert not list(here.glob("*x.npy*"))


def test_another_encoder_on_another_machine_is_an_error(encoder: str) -> None:
    with pytest.raises(RejoinderError, match="is not the same on every machine"):
        EmbeddingWorker(encoder, "0" * 64, "float32")
