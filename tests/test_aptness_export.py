"""The networks of aptness as a folder and back: nothing is lost but what int8 takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_aptness

from rejoinder.errors import InputError
from rejoinder.models import aptness_card
from rejoinder.models.onnx.session import open_session

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder.models.aptness.export import export_pair  # noqa: E402
from rejoinder.models.aptness.network import float_networks  # noqa: E402

FILES = ["aptness.json", "bi.onnx", "context.onnx", "cross.onnx", "embeddings.int8", "reply.onnx", "tokenizer.json"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_aptness.write(tmp_path_factory.mktemp("aptness"))


def rows(seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    ids = random.integers(5, 90, (5, 12))
    mask = (np.arange(12) < np.array([12, 3, 8, 5, 11])[:, None]).astype(np.int64)
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": mask * (np.arange(12) >= 2)}


def tensors(given: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(values) for name, values in given.items()}


def test_the_folder_has_each_file_and_its_digest(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == FILES
    card = aptness_card.read_aptness_card(folder)
    aptness_card.check_aptness_files(folder, card, *FILES[1:])
    assert card.about == tiny_aptness.CARD
    assert card.limits == aptness_card.AptnessLimits(6, 128, 96, 128)
    assert card.networks["bi"]["num_hidden_layers"] == 2


def test_exporting_twice_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    tiny_aptness.write(tmp_path / "again")
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_word_embeddings_are_stored_once(folder: Path) -> None:
    import onnx

    for name in ("bi.onnx", "cross.onnx"):
        graph = onnx.load(str(folder / name), load_external_data=False).graph
        outside = {e.value for w in graph.initializer for e in w.external_data if e.key == "location"}
        assert outside == {"embeddings.int8"}


def test_all_matrices_are_int8(folder: Path) -> None:
    import onnx

    for name in ("bi.onnx", "context.onnx", "cross.onnx", "reply.onnx"):
        graph = onnx.load(str(folder / name), load_external_data=False).graph
        large = [w for w in graph.initializer if np.prod(w.dims) >= 1_024]
        assert large
        assert all(w.data_type == onnx.TensorProto.INT8 for w in large)


def test_the_float_networks_compute_what_the_graphs_do(folder: Path) -> None:
    bi, cross = float_networks(folder)
    given = rows()
    alone = {name: given[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        vectors, states = bi(**tensors(alone)), bi.trunk(**tensors(alone)).last_hidden_state
        several = vectors.unsqueeze(1).repeat(1, 6, 1) * torch.linspace(0.5, 1, 6)[None, :, None]
        there = (torch.arange(6) < torch.tensor([[1], [6], [3], [2], [4]])).long()
        pairs = [
            (folder / "bi.onnx", alone, [vectors, states]),
            (
                folder / "context.onnx",
                {"utterances": several.numpy(), "mask": there.numpy()},
                [bi.context(several, there)],
            ),
            (folder / "reply.onnx", {"utterances": vectors.numpy()}, [bi.reply(vectors)]),
            (folder / "cross.onnx", given, [cross(**tensors(given)), cross.features(**tensors(given))]),
        ]
    for graph, inputs, expected in pairs:
        for found, wanted in zip(open_session(graph).run(None, inputs), expected, strict=True):
            assert np.abs(found - wanted.numpy()).max() < 1e-4, graph.name


def test_int8_moves_no_weight_by_more_than_half_a_step(folder: Path) -> None:
    for before, after in zip(tiny_aptness.networks(), float_networks(folder), strict=True):
        kept = after.state_dict()
        for name, values in before.state_dict().items():
            if ".pooler." not in name:
                assert (kept[name] - values).abs().max() <= values.abs().max() / 127 / 2 + 1e-7, name


def test_the_networks_may_differ_in_depth(tmp_path: Path) -> None:
    bi, cross = float_networks(tiny_aptness.write(tmp_path / "short", layers=1))
    assert (bi.trunk.config.num_hidden_layers, cross.trunk.config.num_hidden_layers) == (1, 2)


def test_exporting_changes_nothing_about_the_networks(tmp_path: Path) -> None:
    bi, cross = tiny_aptness.networks()
    bi.train()
    before = {name: values.clone() for name, values in bi.state_dict().items()}
    export_pair(bi, cross, tiny_aptness.tokenizer(), tiny_aptness.CALIBRATION, {}, tmp_path / "out")
    assert bi.training
    assert all(torch.equal(values, before[name]) for name, values in bi.state_dict().items())


def test_networks_with_different_words_are_refused(tmp_path: Path) -> None:
    bi, cross = tiny_aptness.networks()
    with torch.no_grad():
        cross.trunk.embeddings.word_embeddings.weight[3, 3] += 1e-6
    with pytest.raises(InputError, match="word embeddings of the two networks differ"):
        export_pair(bi, cross, tiny_aptness.tokenizer(), tiny_aptness.CALIBRATION, {}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_without_the_mark_between_utterances_is_refused(tmp_path: Path) -> None:
    bi, cross = tiny_aptness.networks()
    found = json.loads(tiny_aptness.tokenizer())
    del found["model"]["vocab"]["[unused0]"]
    with pytest.raises(InputError, match=r"has no special token \[unused0\]"):
        export_pair(bi, cross, json.dumps(found), tiny_aptness.CALIBRATION, {}, tmp_path / "out")


def test_a_trunk_that_cannot_read_a_pair_is_refused(tmp_path: Path) -> None:
    bi, cross = tiny_aptness.networks(positions=128)
    with pytest.raises(InputError, match="128 positions cannot read 227 tokens"):
        export_pair(bi, cross, tiny_aptness.tokenizer(), tiny_aptness.CALIBRATION, {}, tmp_path / "out")


def test_a_calibration_that_forgets_a_network_is_refused(tmp_path: Path) -> None:
    bi, cross = tiny_aptness.networks()
    wrong = {**tiny_aptness.CALIBRATION, "both": {"bi": 1.0, "bias": 0.0}}
    with pytest.raises(InputError, match="calibration of 'both' must have a weight for bi and cross"):
        export_pair(bi, cross, tiny_aptness.tokenizer(), wrong, {}, tmp_path / "out")
