"""DynaEval's adapter: the authors' network rebuilt step by step in numpy, their layout, what is said of gaps."""

from __future__ import annotations

import math
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import tiny_checkpoints as tiny
from rejoinder_lab.metrics.dynaeval import DynaEval
from rejoinder_lab.models.dynaeval.model import open_dynaeval, prepare_dynaeval_text, split_dynaeval_words

import rejoinder
from rejoinder import cli
from rejoinder.errors import InputError, SpecError
from rejoinder.models.translation.checkpoint import CheckpointMissingError, read_checkpoint_weights
from rejoinder.types import Item, Pair, Response, Turn

pytest.importorskip("torch", reason="the torch extra is not installed")

CHECKPOINT = "output/empathetic-us-345678/best.pt"
DIALOGUES = [
    ["how do you do", "fine thanks", "the train leaves at nine"],
    ["the cat sat on the mat", "what about the dog?"],
    ["yes", "no", "maybe so", "i think so", "what", "the dog ran", "very fast", "so it is", "good night", "see you"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_dynaeval(tmp_path_factory.mktemp("dynaeval"))


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(folder, tmp_path / "DynaEval"))


def pairs(dialogues: Sequence[Sequence[str]]) -> list[Pair]:
    return [
        Pair(
            Item(f"i{i}", tuple(Turn(text, "AB"[j % 2]) for j, text in enumerate(before))),
            Response(f"r{i}", f"i{i}", "s", said),
        )
        for i, (*before, said) in enumerate(dialogues)
    ]


# --- the network in numpy, one dialogue at a time, in the order of the authors' code and torch_geometric 1.4.3 ---


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def one_way(w: dict[str, Any], layer: str, states: Any) -> Any:
    """One direction of one layer of an LSTM; torch keeps the gates in the order input, forget, cell, output."""
    half = w[f"rnn.rnn.weight_hh_{layer}"].shape[1]
    hidden, cell, found = np.zeros(half), np.zeros(half), []
    for x in states:
        gates = w[f"rnn.rnn.weight_ih_{layer}"] @ x + w[f"rnn.rnn.bias_ih_{layer}"]
        gates = gates + w[f"rnn.rnn.weight_hh_{layer}"] @ hidden + w[f"rnn.rnn.bias_hh_{layer}"]
        i, f, g, o = np.split(gates, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(cell)
        found.append(hidden)
    return np.stack(found)


def both_ways(w: dict[str, Any], states: Any) -> Any:
    for layer in ("l0", "l1"):
        back = one_way(w, f"{layer}_reverse", states[::-1])[::-1]
        states = np.concatenate([one_way(w, layer, states), back], axis=1)
    return states


def pairs_of_places(n: int, past: int, future: int) -> list[tuple[int, int]]:
    found = []
    for j in range(n):
        first = 0 if past == -1 else max(0, j - past)
        last = n if future == -1 else min(n, j + future + 1)
        found += [(j, k) for k in range(first, last)]
    return found


def shares(w: dict[str, Any], x: Any, past: int, future: int) -> Any:
    """The attention over the window of each utterance; -1 counts as a number, which may leave the window empty."""
    n = len(x)
    found = np.zeros((n, n))
    for j in range(n):
        s = j - past if j - past >= 0 else 0
        e = j + future if j + future <= n - 1 else n - 1
        window = range(s, e + 1)
        if not window:
            continue
        scores = np.array([(w["edge_att.weight"] @ x[k]) @ x[j] for k in window])
        raised = np.exp(scores - scores.max())
        for k, share in zip(window, raised / raised.sum(), strict=True):
            found[j, k] = share
    return found


def score(w: dict[str, Any], vectors: Any, past: int, future: int) -> float:
    x = vectors
    for name in ("ds_1", "ds_2"):
        if f"{name}.weight" in w:
            x = np.stack([w[f"{name}.weight"] @ row + w[f"{name}.bias"] for row in x])
    x = both_ways(w, x)
    n = len(x)
    share = shares(w, x, past, future)
    edges = pairs_of_places(n, past, future)
    numbers = {f"{a}{b}{c}": i for i, (a, b, c) in enumerate((a, b, c) for a in "01" for b in "01" for c in "01")}
    first = x @ w["gcn.conv1.root"] + w["gcn.conv1.bias"]
    for j, i in edges:
        kind = numbers[f"{j % 2}{i % 2}{'0' if j < i else '1'}"]
        matrix = sum(w["gcn.conv1.att"][kind, b] * w["gcn.conv1.basis"][b] for b in range(tiny.BASES))
        first[i] = first[i] + share[j, i] * (x[j] @ matrix)
    second = np.stack([w["gcn.conv2.lin.weight"] @ row + w["gcn.conv2.lin.bias"] for row in first])
    for j, i in edges:
        second[i] = second[i] + first[j] @ w["gcn.conv2.weight"]
    both = np.concatenate([x, second], axis=1)
    hidden = np.maximum(np.stack([w["clf.lin1.weight"] @ row + w["clf.lin1.bias"] for row in both]), 0).mean(0)
    return float((w["clf.lin2.weight"] @ hidden + w["clf.lin2.bias"])[0])


def vectors_of(folder: Path, dialogue: Sequence[str]) -> Any:
    """The utterances' vectors by transformers alone: tokenised together, the mean over every place of the batch."""
    import torch
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    encoder = folder / "SRoBERTa"
    network = RobertaModel(RobertaConfig.from_pretrained(encoder), add_pooling_layer=False).eval()
    state = torch.load(encoder / "pytorch_model.bin", weights_only=True)
    network.load_state_dict({name: value for name, value in state.items() if not name.startswith("pooler.")})
    given = RobertaTokenizer.from_pretrained(encoder)(
        [prepare_dynaeval_text(t) for t in dialogue], padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        return network(**given)[0].mean(dim=1).numpy().astype(np.float64)


@pytest.mark.parametrize("windows", [(4, 4), (1, 2), (-1, -1), (-1, 3), (2, -1), (0, 0)])
def test_the_forward_pass_is_that_of_the_authors(folder: Path, windows: tuple[int, int]) -> None:
    weights = {
        name: v.numpy().astype(np.float64)
        for name, v in read_checkpoint_weights(folder / CHECKPOINT, "best_state").items()
    }
    found = open_dynaeval(str(folder)).scores(DIALOGUES, *windows)
    expected = [score(weights, vectors_of(folder, dialogue), *windows) for dialogue in DIALOGUES]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert np.ptp(expected) > 1e-2  # the comparison would see nothing if all were alike


def test_the_earlier_version_with_two_narrowing_layers_is_read_too(tmp_path: Path) -> None:
    folder = tiny.write_dynaeval(tmp_path, flat=True, narrow_twice=True)
    weights = {
        name: v.numpy().astype(np.float64)
        for name, v in read_checkpoint_weights(folder / "best.pt", "best_state").items()
    }
    found = open_dynaeval(str(folder)).scores(DIALOGUES[:1], 4, 4)
    assert found == pytest.approx([score(weights, vectors_of(folder, DIALOGUES[0]), 4, 4)], rel=1e-4, abs=1e-5)


def test_one_window_of_all_counts_no_message_in_the_first_convolution(folder: Path) -> None:
    weights = {
        name: v.numpy().astype(np.float64)
        for name, v in read_checkpoint_weights(folder / CHECKPOINT, "best_state").items()
    }
    assert not shares(weights, np.ones((3, tiny.WIDTH)), -1, -1).any()


def test_the_reply_is_the_end_of_the_dialogue(folder: Path) -> None:
    metric = DynaEval(folder=str(folder))
    assert metric.score(pairs(DIALOGUES)) == open_dynaeval(str(folder)).scores(DIALOGUES, 4, 4)
    with_gap = [["how do you do", "  ", "fine thanks", "the train leaves at nine"]]
    assert metric.score(pairs(with_gap)) == metric.score(pairs(DIALOGUES[:1]))


def test_utterances_are_lower_cased_set_apart_and_cut() -> None:
    assert split_dynaeval_words("I don't think it's Nine, do you?") == "i do n't think it 's nine , do you ?".split()
    assert prepare_dynaeval_text("Yes!") == "yes ! __eou__"
    assert prepare_dynaeval_text("ha " * 40).split() == ["ha"] * 30 + ["__eou__"]


def test_long_utterances_are_said_to_be_cut(folder: Path) -> None:
    metric = DynaEval(folder=str(folder))
    given = pairs([["yes", "no"], ["ha " * 31, "no"], ["yes", "ha " * 30], ["yes", "x" * 3000]])
    assert metric.cut(given) == [False, True, False, True]
    assert not any(math.isnan(value) for value in metric.score(given))


def test_a_pair_that_says_nothing_has_no_score(folder: Path) -> None:
    found = DynaEval(folder=str(folder)).score(pairs([["  ", "hello"], ["yes", " "], ["yes", "no"]]))
    assert [math.isnan(value) for value in found] == [True, True, False]


def test_without_a_folder_it_says_what_to_get_and_where() -> None:
    with pytest.raises(
        CheckpointMissingError, match=r"listed in docs/adapters\.md from https://github\.com/e0397123/DynaEval"
    ):
        DynaEval(folder="authors").score(pairs(DIALOGUES))
    with pytest.raises(CheckpointMissingError, match="nowhere is not a folder"):
        DynaEval(folder="nowhere").score(pairs(DIALOGUES))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (CHECKPOINT, "the checkpoint is missing"),
        ("SRoBERTa/config.json", "the configuration of the fine-tuned RoBERTa is missing"),
        ("SRoBERTa/pytorch_model.bin", "the fine-tuned RoBERTa is missing"),
    ],
)
def test_a_file_that_lacks_is_named(own: Path, name: str, what: str) -> None:
    (own / name).unlink()
    with pytest.raises(InputError, match=what) as caught:
        open_dynaeval(str(own))
    assert Path(name).name in str(caught.value)


def change(path: Path, inside: str | None = None, **changed: Any) -> None:
    """A checkpoint with some weights replaced (or, with None, left out); a double underscore stands for a dot."""
    import torch

    with torch.serialization.safe_globals([]):
        states = (
            {"best_state": dict(read_checkpoint_weights(path, inside))}
            if inside
            else dict(read_checkpoint_weights(path))
        )
    state = states["best_state"] if inside else states
    for name, value in changed.items():
        del state[name.replace("__", ".")]
        if value is not None:
            state[name.replace("__", ".")] = value
    torch.save(states, path)


def test_weights_that_lack_are_counted_and_named(own: Path) -> None:
    change(own / CHECKPOINT, "best_state", gcn__conv1__root=None, clf__lin2__bias=None)
    with pytest.raises(InputError, match=r"lacks 2 of the \d+ weights \(gcn\.conv1\.root, clf\.lin2\.bias\)"):
        open_dynaeval(str(own))


def test_a_checkpoint_of_a_newer_torch_geometric_is_not_taken_for_one_of_the_authors(own: Path) -> None:
    change(own / CHECKPOINT, "best_state", gcn__conv1__basis=None)
    with pytest.raises(InputError, match=r"has no weight 'gcn\.conv1\.basis'"):
        open_dynaeval(str(own))


def test_a_weight_of_another_shape_is_told(own: Path) -> None:
    import torch

    change(own / CHECKPOINT, "best_state", gcn__conv1__att=torch.zeros(18, tiny.BASES))
    with pytest.raises(
        InputError, match=r"'gcn\.conv1\.att' has the shape \(18, 5\); the other weights require \(8, 5\)"
    ):
        open_dynaeval(str(own))
    change(own / CHECKPOINT, "best_state", gcn__conv1__basis=torch.zeros(3, 3))
    with pytest.raises(InputError, match=r"'gcn\.conv1\.basis' has the shape \(3, 3\), but 3 dimensions are expected"):
        open_dynaeval(str(own))


def test_an_encoder_that_does_not_fit_is_told(own: Path) -> None:
    import torch

    width = tiny.SENTENCE + 1
    change(own / CHECKPOINT, "best_state", ds_1__weight=torch.zeros(tiny.WIDTH, width))
    with pytest.raises(InputError, match=f"gives 32-dimensional vectors, but best.pt was trained on dimension {width}"):
        open_dynaeval(str(own))
    change(own / "SRoBERTa" / "pytorch_model.bin", encoder__layer__0__output__dense__bias=None)
    with pytest.raises(InputError, match=r"lacks 1 of the \d+ weights \(encoder\.layer\.0\.output\.dense\.bias\)"):
        open_dynaeval(str(own))


def test_safetensors_and_the_prefix_of_a_whole_roberta_are_read(folder: Path, own: Path) -> None:
    from safetensors.torch import save_file

    before = DynaEval(folder=str(folder)).score(pairs(DIALOGUES))
    path = own / "SRoBERTa" / "pytorch_model.bin"
    save_file(
        {f"roberta.{name}": value for name, value in read_checkpoint_weights(path).items()},
        path.with_name("model.safetensors"),
    )
    path.unlink()
    assert DynaEval(folder=str(own)).score(pairs(DIALOGUES)) == before


@pytest.mark.parametrize("old_name", [False, True])
def test_a_number_of_numpys_beside_the_weights_does_no_harm(tmp_path: Path, old_name: bool) -> None:
    import torch

    path = tmp_path / "best.pt"
    states = {"best_dev_acc": np.float64(0.75), "best_state": {"a": torch.ones(2)}}
    torch.save(states, path, _use_new_zipfile_serialization=False)
    content = path.read_bytes()
    new, old = b"numpy._core.multiarray\n", b"numpy.core.multiarray\n"
    path.write_bytes(content.replace(new, old) if old_name else content.replace(old, new))
    assert (old if old_name else new) in path.read_bytes()
    assert read_checkpoint_weights(path, "best_state")["a"].tolist() == [1.0, 1.0]


def test_a_pickle_that_would_run_something_is_refused(own: Path) -> None:
    import torch

    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return print, ("run",)

    torch.save({"best_state": {}, "best_dev_acc": Trap()}, own / CHECKPOINT)
    with pytest.raises(InputError, match="is not a checkpoint that can be read safely"):
        open_dynaeval(str(own))


@pytest.mark.parametrize("spec", ["dynaeval(past=-2)", "dynaeval(future=1.5)"])
def test_a_parameter_that_means_nothing_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="dynaeval: "):
        rejoinder.parse(spec)


def test_the_signature_names_the_files(folder: Path, own: Path) -> None:
    before = DynaEval(folder=str(folder)).details()
    assert before == DynaEval(folder=str(own)).details()
    import torch

    change(own / CHECKPOINT, "best_state", clf__lin2__bias=torch.ones(1))
    assert DynaEval(folder=str(own)).details() != before


def test_it_runs_from_the_command_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "DynaEval")
    lines = []
    for i, (*before, said) in enumerate(DIALOGUES):
        turns = [{"text": text, "speaker": "AB"[j % 2]} for j, text in enumerate(before)]
        lines.append({"kind": "item", "id": f"i{i}", "context": turns})
        lines.append({"kind": "response", "id": f"r{i}", "item": f"i{i}", "system": "bot", "text": said})
    (tmp_path / "chats.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    spec = "dynaeval(folder='DynaEval')"
    monkeypatch.setattr(sys, "argv", ["rejoinder", "score", "chats.jsonl", "-m", spec, "-o", "out"])
    cli.main()
    shown = capfd.readouterr()
    assert spec in shown.out
    assert re.search(r"weights:[0-9a-f]{12}", shown.err)
    monkeypatch.setattr(
        sys, "argv", ["rejoinder", "score", "chats.jsonl", "-m", "dynaeval(folder='authors')", "-o", "other"]
    )
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert "https://github.com/e0397123/DynaEval" in capfd.readouterr().err
