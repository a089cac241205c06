"""Where models compute: who decides, what onnxruntime and torch are asked for, and that the numbers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_aptness
import tiny_models
from click.testing import CliRunner

from rejoinder.cli.models import command
from rejoinder.errors import InputError, SpecError
from rejoinder.models import device
from rejoinder.models.aptness.model import AptnessModel
from rejoinder.models.batching import split_into_batches
from rejoinder.models.device import GraphBackend
from rejoinder.models.encoder import factory
from rejoinder.models.encoder.onnx import OnnxEncoder
from rejoinder.models.encoder.probe_sentences import probe_texts
from rejoinder.models.onnx import session

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """A machine of which one says what it has."""

    def made(driver: bool = False, provider: bool = False, torch: bool = False, asked: str | None = None) -> None:
        device._choose_backend.cache_clear()
        found = [device.CPU_PROVIDER, *([device.CUDA_PROVIDER] if provider else [])]
        monkeypatch.setattr(device, "has_cuda_driver", lambda: driver)
        monkeypatch.setattr(device, "_list_providers", lambda: found)
        monkeypatch.setattr(device, "_torch_has_cuda", lambda: torch and driver)
        if asked is None:
            monkeypatch.delenv("REJOINDER_DEVICE", raising=False)
        else:
            monkeypatch.setenv("REJOINDER_DEVICE", asked)

    yield made
    device._choose_backend.cache_clear()


@pytest.fixture
def by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are computed by torch, which here has a CPU only."""
    pytest.importorskip("torch", reason="the torch extra is not installed")
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    monkeypatch.setattr(device, "_choose_backend", lambda asked: GraphBackend("cpu", "torch"))


def test_cuda_is_used_where_there_is_one_and_the_cpu_elsewhere(machine: Machine) -> None:
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    machine()
    assert device.graph_backend() == GraphBackend("cpu", "onnxruntime")
    assert device.torch_device() == "cpu"
    machine(driver=True, provider=True, torch=True)
    assert device.graph_backend() == GraphBackend("cuda", "onnxruntime")
    machine(driver=True, torch=True)
    assert device.graph_backend() == GraphBackend("cuda", "torch")
    assert device.torch_device() == "cuda"
    assert device.describe_backend() == "CUDA (exported graphs by torch)"
    machine(driver=True)
    assert device.graph_backend() == GraphBackend("cpu", "onnxruntime")
    assert device.describe_backend() == "the CPU"


def test_the_environment_decides_over_what_is_there(machine: Machine) -> None:
    machine(driver=True, provider=True, torch=True, asked="cpu")
    assert device.graph_backend() == GraphBackend("cpu", "onnxruntime")
    assert device.torch_device() == "cpu"
    assert device.torch_device("cuda") == "cuda"  # what a command names comes first
    machine(driver=True, provider=True, torch=True, asked="cuda")
    assert device.graph_backend() == GraphBackend("cuda", "onnxruntime")


def test_a_device_that_is_not_there_is_said_in_one_sentence(machine: Machine) -> None:
    machine(asked="cuda")
    with pytest.raises(SpecError, match=r"REJOINDER_DEVICE is cuda, but neither onnxruntime .* nor torch"):
        device.graph_backend()
    with pytest.raises(InputError, match="torch finds no GPU here"):
        device.torch_device()
    machine(asked="gpu")
    with pytest.raises(SpecError, match="must be cpu or cuda, not 'gpu'"):
        device.graph_backend()
    with pytest.raises(InputError, match="must be 'cpu' or 'cuda', not 'tpu'"):
        device.torch_device("tpu")


def test_without_a_driver_neither_library_is_asked(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine()

    def asked() -> Any:
        raise AssertionError("a large library was loaded to find out what the missing driver says")

    monkeypatch.setattr(device, "_list_providers", asked)
    monkeypatch.setattr(device, "_torch_has_cuda", asked)
    assert device.graph_backend() == GraphBackend("cpu", "onnxruntime")


def test_onnxruntime_is_asked_for_cuda_without_tf32(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import onnxruntime

    opened: list[Any] = []
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda path, options, providers: opened.append(providers))
    graph = tiny_models.write_exported_encoder(tmp_path) / "model.onnx"
    machine(driver=True, provider=True)
    session.open_session(graph)
    machine(driver=True, provider=True, asked="cpu")
    session.open_session(graph)
    assert opened == [[("CUDAExecutionProvider", {"use_tf32": "0"}), "CPUExecutionProvider"], ["CPUExecutionProvider"]]


def test_batches_are_larger_on_a_gpu_and_computed_one_after_the_other(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    assert max(map(len, split_into_batches([8] * 1000))) == 32
    machine(driver=True, provider=True)
    assert max(map(len, split_into_batches([8] * 1000))) == 512
    monkeypatch.setenv("REJOINDER_THREADS", "2")
    monkeypatch.setattr(session, "ThreadPoolExecutor", None)
    seen: list[int] = []
    session.compute_in_parallel(lambda batch: seen.append(len(batch)), split_into_batches([8] * 1000))
    assert seen == [512, 488]


def test_torch_computes_aptness_to_the_written_decimals(
    by_torch: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.models.onnx.torch_graph import TorchGraph

    folder = tiny_aptness.write(tmp_path / "tiny")
    contexts = [["how do you do", "fine thanks"], ["the cat sat on the mat"], ["what"] * 8, ["a dog", "ran fast"]]
    replies = ["and you?", "the dog ran", "I think so", "good night, see you soon"]

    def computed() -> list[Any]:
        monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path / str(device.graph_backend().runtime)))
        factory._open_encoder_folder.cache_clear()
        model = AptnessModel(folder)
        assert isinstance(model._cross._session, TorchGraph) == (device.graph_backend().runtime == "torch")
        found = [model.bi_scores, model.cross_scores, model.probabilities, model.cross_features]
        return [model.encoder.encode(replies), *(one(contexts, replies) for one in found)]

    by_it = computed()
    monkeypatch.setattr(device, "_choose_backend", lambda asked: GraphBackend("cpu", "onnxruntime"))
    for ours, theirs in zip(by_it, computed(), strict=True):
        assert np.abs(ours - theirs).max() < 2e-5
    factory._open_encoder_folder.cache_clear()


def test_torch_computes_the_shipped_graphs_as_onnxruntime_does() -> None:
    pytest.importorskip("torch", reason="the torch extra is not installed")
    pytest.importorskip("onnx", reason="the torch extra is not installed")
    from rejoinder.models.catalog.manifest import require_model
    from rejoinder.models.onnx.torch_graph import TorchGraph

    random = np.random.default_rng(0)
    mask = (np.arange(9) < np.array([9, 2, 5])[:, None]).astype(np.int64)
    tokens = random.integers(999, 20_000, mask.shape) * mask
    vectors = random.normal(size=(3, 6, 384)).astype(np.float32) / 20
    read = {"input_ids": tokens, "attention_mask": mask}
    for name, given in {
        "bi": read,
        "cross": {**read, "token_type_ids": mask * (np.arange(9) >= 4)},
        "context": {"utterances": vectors, "mask": mask[:, :6]},
        "reply": {"utterances": vectors[:, 0]},
    }.items():
        path = require_model("aptness") / f"{name}.onnx"
        ours = TorchGraph(path, "cpu").run(None, given)
        theirs = session._open_onnxruntime(path, "cpu").run(None, given)
        for mine, its in zip(ours, theirs, strict=True):
            assert mine.shape == its.shape
            assert mine.dtype == its.dtype
            known = mask[: len(mine), : mine.shape[1]].astype(bool) if mine.ndim == 3 else slice(None)  # not padding
            assert np.abs(mine[known] - its[known]).max() < 1e-5, name


def test_a_graph_that_torch_cannot_compute_goes_to_the_cpu_unless_cuda_was_asked_for(
    by_torch: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.models.onnx import torch_graph

    folder = tiny_models.write_exported_encoder(tmp_path)
    wanted = OnnxEncoder(folder).encode(probe_texts()[:5])
    monkeypatch.setattr(torch_graph, "OPERATIONS", {})
    assert np.allclose(OnnxEncoder(folder).encode(probe_texts()[:5]), wanted, atol=1e-6)
    monkeypatch.setenv("REJOINDER_DEVICE", "cuda")
    with pytest.raises(InputError, match="cannot be computed by torch here; set REJOINDER_DEVICE=cpu"):
        OnnxEncoder(folder)


def test_the_list_of_models_says_where_they_compute(machine: Machine) -> None:
    machine()
    assert "Models compute on the CPU" in CliRunner().invoke(command, []).output
    machine(driver=True, provider=True)
    assert "Models compute on CUDA (exported graphs by onnxruntime)" in CliRunner().invoke(command, []).output


def test_one_process_scores_where_models_compute_on_a_gpu(machine: Machine) -> None:
    from rejoinder.cli.score import _uses_gpu
    from rejoinder.scoring.run import Plan

    machine(driver=True, provider=True)
    assert _uses_gpu(Plan.of(["bleu", "aptness"]))
    assert _uses_gpu(Plan.of([]))
    assert not _uses_gpu(Plan.of(["bleu", "length"]))
    machine(driver=True, provider=True, asked="cpu")
    assert not _uses_gpu(Plan.of(["aptness"]))
