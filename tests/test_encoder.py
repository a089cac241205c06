"""Encoders: both backends against plain transformers, whatever the batch, the order and the cache."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from rejoinder.cli import models as cli
from rejoinder.errors import InputError, SpecError
from rejoinder.models.base import Encoder, Side, TokenVectors, Vectors
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.catalog.manifest import ModelMissingError
from rejoinder.models.device import count_threads
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.cache import CachedEncoder, VectorCache
from rejoinder.models.encoder.centred import CentredEncoder, load_centred_encoder
from rejoinder.models.encoder.export import export_by_name
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.encoder.onnx import OnnxEncoder
from rejoinder.models.encoder.probe_sentences import probe_texts
from rejoinder.models.encoder.transformers import TransformersEncoder
from rejoinder.models.weight_sets import WeightSet
from tests.tiny_encoder import write_encoder

TEXTS = ["Hello there!", "how are you", "", "it rains", "what is the weather like in town today?", "fine", "zebra 9 é"]
LONG = "hello there " * 40
# The user's own cache, read before every test is given one of its own.
REAL = Path(os.environ.get("REJOINDER_CACHE") or "nowhere") / "models" / "minilm"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def exported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "tiny"
    export_by_name(str(folder), target, "float32")
    return target


@pytest.fixture(params=["onnx", "transformers"])
def encoder(request: pytest.FixtureRequest) -> Encoder:
    if request.param == "onnx":
        return OnnxEncoder(request.getfixturevalue("exported"))
    return TransformersEncoder(request.getfixturevalue("folder"), "tiny")


def by_transformers(folder: Path, text: str, layer: int = -1) -> NDArray[np.float32]:
    """The states of one text, with no batch, no padding and none of our code."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder).eval()
    ids = torch.tensor([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids])
    with torch.no_grad():
        states: NDArray[np.float32] = model(ids, output_hidden_states=True).hidden_states[layer][0].numpy()
    return states


def test_a_vector_is_the_mean_of_the_tokens_at_length_one(encoder: Encoder, folder: Path) -> None:
    for text, vector in zip(TEXTS, encoder.encode(TEXTS), strict=True):
        mean = by_transformers(folder, text).mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=2e-6)


def test_neither_neighbours_nor_order_change_a_vector(encoder: Encoder) -> None:
    random = np.random.default_rng(0)
    texts = [*TEXTS, *(" ".join(random.choice(TEXTS, n)) for n in (1, 2, 3, 5, 8, 13, 21, 34))]
    together = encoder.encode(texts)
    np.testing.assert_allclose(np.concatenate([encoder.encode([text]) for text in texts]), together, atol=2e-6)
    order = random.permutation(len(texts))
    np.testing.assert_allclose(encoder.encode([texts[i] for i in order]), together[order], atol=2e-6)


def test_neighbours_do_not_change_a_vector_of_int8_weights(folder: Path, exported: Path, tmp_path: Path) -> None:
    card = export_by_name(str(folder), tmp_path / "small", "int8")
    encoder = OnnxEncoder(tmp_path / "small")
    alone = np.concatenate([encoder.encode([text]) for text in probe_texts()])
    np.testing.assert_allclose(encoder.encode(probe_texts()), alone, atol=2e-6)
    assert card.weights == "int8"
    assert 0.98 < card.measured["min_cosine"] <= card.measured["mean_cosine"] < 1
    assert card.measured["graph_bytes"] < (exported / "model.onnx").stat().st_size - 60_000
    original = TransformersEncoder(folder, "tiny").encode(probe_texts())
    cosines = (original * encoder.encode(probe_texts())).sum(axis=1)
    assert card.measured["mean_cosine"] == pytest.approx(cosines.mean(), abs=2e-6)


def test_int8_weights_are_within_half_a_step_of_the_original(folder: Path, tmp_path: Path) -> None:
    import onnx
    from onnx import numpy_helper

    export_by_name(str(folder), tmp_path / "float32", "float32")
    export_by_name(str(folder), tmp_path / "int8", "int8")
    graphs = [onnx.load(tmp_path / form / "model.onnx").graph for form in ("float32", "int8")]
    whole, small = ({i.name: numpy_helper.to_array(i) for i in graph.initializer} for graph in graphs)
    quantised = {node.output[0]: node for node in graphs[1].node if node.op_type == "DequantizeLinear"}
    assert len(quantised) > 3 * 6
    for name, node in quantised.items():
        axis = node.attribute[0].i
        scales = np.expand_dims(small[f"{name}/scales"], 1 - axis)
        assert np.all(np.abs(small[f"{name}/int8"] * scales - whole[name]) <= scales * 0.501)


@pytest.mark.parametrize("layer", [-1, 0, 1, 2, 3, -2, -4])
def test_any_layer_of_a_transformers_encoder_is_that_layer(folder: Path, layer: int) -> None:
    encoder = TransformersEncoder(folder, "tiny")
    for text, found in zip(TEXTS, encoder.encode_tokens(TEXTS, layer), strict=True):
        np.testing.assert_allclose(found.vectors, by_transformers(folder, text, layer)[1:-1], atol=5e-6)
        assert len(found.tokens) == len(found.vectors)
    after = encoder.encode(TEXTS)
    np.testing.assert_allclose(after, TransformersEncoder(folder, "tiny").encode(TEXTS), atol=1e-6)


def test_the_exported_encoder_gives_the_tokens_of_the_last_layer_only(exported: Path, folder: Path) -> None:
    encoder = OnnxEncoder(exported)
    found = encoder.encode_tokens(["Hello there!", ""])
    assert found[0].tokens == ("hello", "there", "!")
    np.testing.assert_allclose(found[0].vectors, by_transformers(folder, "Hello there!")[1:-1], atol=5e-6)
    assert found[1].tokens == ()
    assert found[1].vectors.shape == (0, 32)
    with pytest.raises(SpecError, match="has only its last layer"):
        encoder.encode_tokens(["hello"], layer=2)


def test_a_layer_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(SpecError, match="has layers 0 to 3"):
        TransformersEncoder(folder, "tiny").encode_tokens(["hello"], layer=4)


def test_a_long_text_loses_its_end_or_its_beginning(encoder: Encoder) -> None:
    start, end = "you " + LONG, LONG + " you"
    left, right = encoder.encode([start, end], cut="left"), encoder.encode([start, end], cut="right")
    plain = encoder.encode([LONG])[0]
    np.testing.assert_allclose(left[0], plain, atol=2e-6)  # "you" was cut off
    np.testing.assert_allclose(right[1], plain, atol=2e-6)
    assert np.abs(left[1] - plain).max() > 1e-3
    assert np.abs(right[0] - plain).max() > 1e-3
    assert encoder.truncated(["hello", LONG, "", "you " * 30, "you " * 31]) == [False, True, False, False, True]


def test_a_roberta_is_padded_with_its_own_id_and_counts_its_positions(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "roberta", "roberta", max_tokens=20, pooling="pooling_mode_cls_token")
    export_by_name(str(folder), tmp_path / "out", "float32")
    for encoder in (TransformersEncoder(folder, "tiny"), OnnxEncoder(tmp_path / "out")):
        assert encoder.max_tokens == 20
        for text, vector in zip(TEXTS, encoder.encode([*TEXTS, LONG]), strict=False):
            first = by_transformers(folder, text)[0]
            np.testing.assert_allclose(vector, first / np.linalg.norm(first), atol=2e-6)


def test_no_texts_give_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.encode_tokens([]) == []
    assert encoder.truncated([]) == []


def test_half_a_character_is_no_reason_to_fail(encoder: Encoder) -> None:
    assert encoder.encode(["a\ud800b"]).shape == (1, 32)


def test_what_decides_a_vector_decides_the_digest(folder: Path, exported: Path, tmp_path: Path) -> None:
    plain = OnnxEncoder(exported).digest
    export_by_name(str(folder), tmp_path / "again", "float32")
    assert OnnxEncoder(tmp_path / "again").digest == plain
    export_by_name(str(folder), tmp_path / "int8", "int8")
    assert OnnxEncoder(tmp_path / "int8").digest != plain
    cut = write_encoder(tmp_path / "shorter", max_tokens=16)
    assert TransformersEncoder(cut, "tiny").digest != TransformersEncoder(folder, "tiny").digest


def test_a_graph_that_is_not_the_cards_is_refused(exported: Path, tmp_path: Path) -> None:
    for path in exported.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with (tmp_path / "model.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(InputError, match="does not match its card"):
        OnnxEncoder(tmp_path)


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"name": "x"}', '{"name": "x", "dimensions": 1, "max_tokens": 2, "z": 1}']
)
def test_a_card_that_is_none_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / cards.CARD_FILE).write_text(content)
    with pytest.raises(InputError, match=r"encoder\.json"):
        load_encoder(str(tmp_path))


def test_weights_in_a_pickle_are_not_opened(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        if path.suffix == ".json":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match="pickles"):
        load_encoder(str(tmp_path))


def test_a_name_leads_to_its_encoder(folder: Path, exported: Path, own_cache: Path) -> None:
    named = {name: load_encoder(name) for name in (str(folder), f"hf:{folder}", str(exported))}
    vectors = [one.encode(TEXTS) for one in named.values()]
    np.testing.assert_allclose(vectors[0], vectors[2], atol=2e-6)
    assert [one.name for one in named.values()] == list(named)
    assert len(list((own_cache / "embeddings").glob("*.sqlite"))) == 2  # one of torch, one of onnxruntime


def test_a_name_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="did you mean 'minilm'"):
        load_encoder("minlm")
    with pytest.raises(ModelMissingError, match="rejoinder models get minilm"):
        load_encoder("minilm")
    with pytest.raises(SpecError, match="of kind language-model, not an encoder"):
        load_encoder("gpt2")
    with pytest.raises(ModelMissingError):
        load_encoder("hf:nobody/nothing")
    with pytest.raises(SpecError, match="has neither"):
        load_encoder(str(tmp_path))


def test_batches_hold_every_text_once_and_few_tokens() -> None:
    lengths = [5, 300, 1, 1, 40, 0, 900, 7] * 9
    found = list(split_into_batches(lengths, most_rows=8, most_tokens=100))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[i] for i in batch)
        assert len(batch) == 1 or (len(batch) <= 8 and len(batch) * longest <= 100)
    assert list(split_into_batches([])) == []


def test_padding_fills_up_at_the_end() -> None:
    ids, mask = pad_token_ids([[5, 6, 7], [], [8]], filler=1)
    assert ids.tolist() == [[5, 6, 7], [1, 1, 1], [8, 1, 1]]
    assert mask.tolist() == [[1, 1, 1], [0, 0, 0], [1, 0, 0]]


def test_the_number_of_threads_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJOINDER_THREADS", raising=False)
    assert 1 <= count_threads() <= (os.cpu_count() or 1)
    monkeypatch.setenv("REJOINDER_THREADS", "3")
    assert count_threads() == 3
    monkeypatch.setenv("REJOINDER_THREADS", "none")
    with pytest.raises(SpecError, match="REJOINDER_THREADS"):
        count_threads()


class Counting:
    """An encoder that counts what it is asked; a text's vector is made of its characters."""

    name, digest, dimensions, max_tokens = "counting", "ab" * 32, 4, 8

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        self.asked += texts
        sides = {"left": 1.0, "right": 2.0}
        rows = [[len(text), text.count("a"), sum(map(ord, text)), sides[cut]] for text in texts]
        return np.array(rows, np.float32).reshape(-1, 4)

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        self.asked += texts
        return [TokenVectors((text,), np.zeros((1, 4), np.float32)) for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [len(text) > 8 for text in texts]


def test_each_distinct_text_is_encoded_once_and_a_long_one_for_each_side(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEncoder(inner, tmp_path)
    texts = ["b", "a", "b", "", "a"]
    np.testing.assert_array_equal(cached.encode(texts), Counting().encode(texts))
    assert sorted(inner.asked) == ["", "a", "b"]
    np.testing.assert_array_equal(CachedEncoder(inner, tmp_path).encode(["c", "a"]), Counting().encode(["c", "a"]))
    assert inner.asked[3:] == ["c"]
    long = "a long text"
    for side in ("left", "right", "left"):
        np.testing.assert_array_equal(cached.encode([long], side), Counting().encode([long], side))
    assert inner.asked[4:] == [long, long]
    np.testing.assert_array_equal(cached.encode(["a", "a"], "left"), cached.encode(["a", "a"], "right"))
    assert inner.asked[6:] == []
    assert cached.encode([]).shape == (0, 4)
    cached.encode_tokens(["x", "x"])
    assert inner.asked[6:] == ["x"]
    assert cached.truncated(["123456789"]) == [True]


def test_many_texts_go_through_the_cache_in_order(tmp_path: Path) -> None:
    texts = [f"text {i % 5_000} {'a' * (i % 7)}" for i in range(12_000)]
    expected = Counting().encode(texts)
    inner = Counting()
    for _ in range(2):
        np.testing.assert_array_equal(CachedEncoder(inner, tmp_path).encode(texts), expected)
    assert len(inner.asked) == len(set(texts))


@pytest.mark.parametrize("damage", ["nonsense", "torn", "flipped"])
def test_a_damaged_cache_is_encoded_anew(tmp_path: Path, damage: str) -> None:
    texts = [f"text {i}" for i in range(500)]
    CachedEncoder(Counting(), tmp_path).encode(texts)
    (file,) = tmp_path.glob("*.sqlite")
    raw = file.read_bytes()
    if damage == "nonsense":
        file.write_bytes(b"no database at all" * 100)
    elif damage == "torn":
        file.write_bytes(raw[: len(raw) // 2])
    else:
        with sqlite3.connect(file) as store:
            store.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE rowid % 2")
        store.close()
    for _ in range(2):
        np.testing.assert_array_equal(CachedEncoder(Counting(), tmp_path).encode(texts), Counting().encode(texts))
    inner = Counting()
    CachedEncoder(inner, tmp_path).encode(texts)
    assert inner.asked == []


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.test_encoder import Counting
from rejoinder.models.encoder.cache import CachedEncoder

class Dying(Counting):
    def encode(self, texts, cut="right"):
        if len(self.asked) > 4_000:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts, cut)

CachedEncoder(Dying(), Path(sys.argv[1])).encode([f"text {i}" for i in range(10_000)])
"""


def test_a_killed_process_leaves_what_it_had_finished(tmp_path: Path) -> None:
    root = str(Path(__file__).parent.parent)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), root], check=False)
    assert done.returncode == -signal.SIGKILL
    texts = [f"text {i}" for i in range(10_000)]
    inner = Counting()
    np.testing.assert_array_equal(CachedEncoder(inner, tmp_path).encode(texts), Counting().encode(texts))
    assert 4_000 < len(inner.asked) < 7_000


def encode_some(folder: str, start: int) -> bool:
    texts = [f"text {i}" for i in range(start, start + 3_000)]
    return bool(np.array_equal(CachedEncoder(Counting(), Path(folder)).encode(texts), Counting().encode(texts)))


def test_processes_share_a_cache(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert all(pool.starmap(encode_some, [(str(tmp_path), start) for start in (0, 1_000, 2_000)]))
    inner = Counting()
    CachedEncoder(inner, tmp_path).encode([f"text {i}" for i in range(5_000)])
    assert inner.asked == []


def test_vectors_of_another_width_are_not_taken(tmp_path: Path) -> None:
    VectorCache(tmp_path / "x.sqlite", 3).put([b"k"], np.ones((1, 3), np.float32))
    assert VectorCache(tmp_path / "x.sqlite", 4).get([b"k"], np.zeros((1, 4), np.float32)) == set()


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "embeddings").write_text("a file where a folder should be")
    with pytest.raises(Exception, match="REJOINDER_CACHE"):
        CachedEncoder(Counting(), tmp_path / "embeddings").encode(["a"])


def test_the_command_exports_and_tells_what_was_lost(folder: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli.command, ["export", str(folder), "-o", str(tmp_path / "out")], catch_exceptions=False)
    assert "int8 weights; cosine to the original over 128 utterances: mean 0.9" in done.output
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["encoder.json", "model.onnx", "tokenizer.json"]
    with pytest.raises(InputError, match="not empty"):
        export_by_name(str(folder), tmp_path / "out")


@pytest.mark.skipif(not (REAL / "manifest.json").is_file(), reason="minilm is not in the cache")
def test_minilm_is_what_sentence_transformers_makes_of_it() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    texts = probe_texts()[:40]
    expected = sentence_transformers.SentenceTransformer(str(REAL), device="cpu").encode(texts)
    np.testing.assert_allclose(OnnxEncoder(REAL).encode(texts), expected, atol=2e-6)


def test_a_few_texts_are_shared_by_all_cores() -> None:
    import numpy as np

    from rejoinder.models.onnx.session import _split_for_workers

    whole = np.arange(9)
    shared = _split_for_workers([whole], 4)
    assert sorted(map(len, shared)) == [2, 2, 2, 3]
    assert sorted(np.concatenate(shared).tolist()) == list(range(9))
    assert [len(part) for part in _split_for_workers([np.arange(1)], 4)] == [1]
    assert len(_split_for_workers([np.arange(3), np.arange(3)], 2)) == 2


@pytest.mark.usefixtures("installed_set")
@pytest.mark.parametrize("weights", ["permissive", "research"])
def test_a_cosine_for_a_threshold_means_about_the_same_by_every_set_of_weights(weights: WeightSet) -> None:
    texts = [
        *("The soup needs more salt.", "My brother drives a lorry.", "When does the museum open?"),
        *("She never answers the phone.", "We painted the kitchen green.", "I lost my umbrella on the train."),
    ]
    same = ["Could you turn off the lights?", "Please switch the lights off."]
    encoder = load_centred_encoder(f"aptness:{weights}")
    cosines = encoder.encode(texts) @ encoder.encode(texts).T
    unrelated = cosines[np.triu_indices(len(texts), 1)]
    assert abs(float(unrelated.mean())) < 0.2
    assert unrelated.max() < 0.5
    one, other = encoder.encode(same)
    assert float(one @ other) > 0.7
    assert np.linalg.norm(encoder.encode(texts), axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


def test_only_an_encoder_whose_vectors_share_a_large_mean_is_centred() -> None:
    plain = load_encoder("aptness:permissive")
    centred = load_centred_encoder("aptness:permissive")
    assert (centred.name, centred.dimensions, centred.max_tokens) == (plain.name, plain.dimensions, plain.max_tokens)
    assert isinstance(centred, CentredEncoder)
    assert centred.digest != plain.digest
    assert centred.truncated(["word " * 900, "word"]) == plain.truncated(["word " * 900, "word"]) == [True, False]
    (own,), (same,) = centred.encode_tokens(["Hello there."]), plain.encode_tokens(["Hello there."])
    assert own.tokens == same.tokens
