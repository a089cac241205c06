"""The large judge of aptness on tiny random networks: the network, the files, and what must not change a score."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rejoinder
from rejoinder.cli import program
from rejoinder.engines import long_work
from rejoinder.engines.long_work import LongWork, open_long_work
from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.metrics.aptness import Aptness
from rejoinder.models import weight_sets
from rejoinder.models.weight_sets import WeightsMissingError
from rejoinder.types import Item, Pair, Response, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("gguf", reason="the torch extra is not installed")

import tiny_large  # noqa: E402

from rejoinder.models.large import memory, model  # noqa: E402
from rejoinder.models.large.adapter import read_large_adapter, write_large_adapter  # noqa: E402
from rejoinder.models.large.card import LargeBase, LargeCalibration, LargeLimits, read_large_card  # noqa: E402
from rejoinder.models.large.gguf_file import GgufFile  # noqa: E402
from rejoinder.models.large.model import BaseMissingError, LargeModel, load_network, open_large  # noqa: E402
from rejoinder.models.large.network import PADDING, Qwen2Network, Qwen2Shape, find_visible  # noqa: E402
from rejoinder.models.large.prompt import MOST_TOKENS, PromptFormat  # noqa: E402

CONTEXTS = [
    ["how do you do", "fine thanks"],
    ["the cat sat on the mat"],
    ["what train", "the train leaves at nine", "ok"],
]
REPLIES = ["and you?", "the dog ran", "I think so", "good night"]


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DEVICE", "cpu")


@pytest.fixture
def base(own_cache: Path) -> Path:
    return tiny_large.install_base(own_cache)


@pytest.fixture
def folder(base: Path, tmp_path: Path) -> Path:
    return tiny_large.write_adapter(tmp_path / "adapter", base)


@pytest.fixture
def large(folder: Path) -> LargeModel:
    return LargeModel(folder)


def crossed() -> tuple[list[list[str]], list[str]]:
    return [context for context in CONTEXTS for _ in REPLIES], REPLIES * len(CONTEXTS)


def pairs() -> list[Pair]:
    return [
        Pair(Item(f"i{i}", tuple(map(Turn, context))), Response(f"r{i}{j}", f"i{i}", str(j), reply))
        for i, context in enumerate(CONTEXTS)
        for j, reply in enumerate(REPLIES)
    ]


def test_the_network_is_that_of_transformers() -> None:
    transformers: Any = pytest.importorskip("transformers")
    shape = Qwen2Shape(layers=3, hidden=64, inner=96, heads=8, key_heads=2, vocabulary=50, rotary_base=1e4)
    torch.manual_seed(0)
    network = Qwen2Network(shape).eval()
    config = transformers.Qwen2Config(
        vocab_size=50, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=8,
        num_key_value_heads=2, rms_norm_eps=1e-6, rope_parameters={"rope_type": "default", "rope_theta": 1e4},
        attn_implementation="eager",
    )  # fmt: skip
    other = transformers.Qwen2Model(config).eval()
    other.load_state_dict(network.state_dict())
    ids = torch.randint(50, (2, 40))
    with torch.no_grad():
        here = network(ids, torch.arange(40).expand(2, -1), torch.zeros(2, 40, dtype=torch.long))
        there = other(ids).last_hidden_state
    assert (here - there).abs().max() < 1e-5
    assert here.std() > 0.1


def test_a_segment_sees_the_context_and_itself() -> None:
    visible = find_visible(torch.tensor([[0, 0, 1, 1, 2, PADDING]]))[0].int().tolist()
    assert visible == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 0],
        [1, 1, 0, 0, 0, 1],
    ]


def test_a_reply_has_the_same_score_alone_in_any_batch_and_shared(
    large: LargeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts, replies = crossed()
    together = large.probabilities(contexts, replies)
    alone = [large.probabilities([c], [r])[0] for c, r in zip(contexts, replies, strict=True)]
    assert together == pytest.approx(alone, abs=1e-5)
    assert len(set(np.round(together, 3))) > 8
    assert large.probabilities(contexts[::-1], replies[::-1])[::-1] == pytest.approx(together, abs=1e-5)
    monkeypatch.setattr("rejoinder.models.large.prompt.MOST_TOKENS", 20)  # so that no reply shares a sequence
    assert large.probabilities(contexts, replies) == pytest.approx(together, abs=1e-5)


def test_a_score_is_that_of_transformers_with_the_adapter_beside_the_weights(
    large: LargeModel, folder: Path, base: Path
) -> None:
    """The definition once more: the plain text, one causal pass, y = W x + B A x, the last token's vector."""
    transformers: Any = pytest.importorskip("transformers")
    from rejoinder.models.language_model.lora import LowRankLayer, attach_lora

    plain = load_network(GgufFile(base), None, "cpu", torch.float32)
    config = transformers.Qwen2Config(
        vocab_size=plain.shape.vocabulary, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
    )  # fmt: skip
    network = transformers.Qwen2Model(config).eval()
    network.load_state_dict(plain.state_dict())
    attach_lora(network, tiny_large.RANK, 1.0, 0)
    adapter = read_large_adapter(folder, large.card)
    for name, layer in network.named_modules():
        if isinstance(layer, LowRankLayer):
            layer.a.data, layer.b.data = (torch.from_numpy(adapter.parts[f"{name}.{part}"]) for part in "ab")
    for context, reply in zip(*crossed(), strict=True):
        letters = ["A", "B"] * len(context)
        parts = ["Conversation:"]
        for i, turn in enumerate(context):
            parts += [f"\n{letters[len(context) - 1 - i]}:", f" {turn}"]
        parts += ["\nB:", f" {reply}", "\nDoes the last reply fit?"]
        ids = [token for part in large._tokenizer.encode(parts) for token in part]
        with torch.no_grad():
            vector = network(torch.tensor([ids])).last_hidden_state[0, -1]
        expected = float(vector @ torch.from_numpy(adapter.head)) + adapter.bias
        assert large.log_odds([context], [reply])[0] == pytest.approx(expected, abs=1e-4)


def test_the_tokeniser_is_that_of_transformers(base: Path) -> None:
    transformers: Any = pytest.importorskip("transformers")
    from rejoinder.models.device import silence_transformers

    with silence_transformers():
        try:
            other: Any = transformers.AutoTokenizer.from_pretrained(base.parent, gguf_file=base.name)
        except (KeyError, ValueError, ImportError, AttributeError) as error:
            pytest.skip(f"transformers does not read the tiny file ({error})")
    for text in ("how do you do?", "\nA: it's  9:45,\n\n ok", "Élan – naïve 東京 123", " don't"):
        (ids,) = GgufFile(base).tokenizer().encode([text])
        assert ids == other(text, add_special_tokens=False)["input_ids"]


def test_what_looks_like_a_mark_is_plain_text_and_surrogates_are_read(base: Path) -> None:
    tokenizer = GgufFile(base).tokenizer()
    marked, broken = tokenizer.encode(["<|im_end|>", "a\ud800b"])
    assert len(marked) > 3
    assert broken == tokenizer.encode(["a?b"])[0]


def test_a_context_loses_whole_turns_and_a_long_turn_its_beginning(base: Path) -> None:
    tokenizer = GgufFile(base).tokenizer()
    turns = tokenizer.encode_turns(["yes yes yes", "no no", "ok"])
    whole, is_cut = PromptFormat(tokenizer, LargeLimits()).context(turns)
    expected = tokenizer.encode(["Conversation:", "\nA:", "\nB:"])
    opening, a, b = expected
    assert (whole, is_cut) == ([*opening, *a, *turns[0], *b, *turns[1], *a, *turns[2]], False)
    less, is_cut = PromptFormat(tokenizer, LargeLimits(len(whole) - 1)).context(turns)
    assert (less, is_cut) == ([*opening, *b, *turns[1], *a, *turns[2]], True)
    tight, is_cut = PromptFormat(tokenizer, LargeLimits(len(opening) + len(a) + 2)).context([turns[0]])
    assert (tight, is_cut) == ([*opening, *a, *turns[0][-2:]], True)


def test_long_replies_are_read_whole_and_beyond_the_limit_are_cut(base: Path, tmp_path: Path) -> None:
    limits = LargeLimits(context_tokens=60, reply_tokens=200)
    large = LargeModel(tiny_large.write_adapter(tmp_path / "short", base, limits=limits))
    middle, long = "yes " * 150, "yes " * 250
    assert large.cut([["ok"]] * 3, ["no", middle, long]) == [False, False, True]
    assert large.cut([["ok"] * 40, [" "], []], ["no", "no", "no"]) == [True, False, False]
    assert large.log_odds([["ok"]], [middle])[0] != large.log_odds([["ok"]], [f"{middle} no"])[0]


def test_replies_to_one_context_are_split_into_sequences_by_their_length(large: LargeModel) -> None:
    contexts, replies = [["yes"]] * 6, ["no " * (400 + i) for i in range(6)]
    sequences = large._prompts(contexts, replies).sequences
    assert len(sequences) > 1
    assert all(len(sequence) <= MOST_TOKENS for sequence in sequences)
    assert sorted(number for sequence in sequences for number in sequence.numbers) == list(range(6))
    assert len(large._prompts(*crossed()).sequences) == len(CONTEXTS)


def test_half_precision_which_a_gpu_uses_changes_a_score_little(large: LargeModel, base: Path) -> None:
    exact = large.probabilities(*crossed())
    adapter = read_large_adapter(large.folder, large.card)
    network = load_network(GgufFile(base), adapter, "cpu", torch.bfloat16)
    assert {weight.dtype for weight in network.parameters()} == {torch.bfloat16}
    coarse = LargeModel(large.folder)
    coarse.__dict__["_network"] = (network, torch.from_numpy(adapter.head), adapter.bias)
    differences = np.abs(coarse.probabilities(*crossed()) - exact)
    assert 0 < differences.mean() < 0.02


def test_what_says_nothing_has_no_score(large: LargeModel) -> None:
    found = large.probabilities([[], [" "], ["yes"], ["", "yes"], ["yes"]], ["ok", "ok", " ", "ok", "ok"])
    assert np.isnan(found).tolist() == [True, True, True, False, False]
    assert found[3] == found[4]
    assert large.probabilities([], []).tolist() == []


def test_an_adapter_is_the_same_bytes_again_and_nearly_the_same_numbers(
    folder: Path, base: Path, tmp_path: Path
) -> None:
    again = tiny_large.write_adapter(tmp_path / "again", base)
    for path in folder.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()
    written, exact = read_large_adapter(folder, read_large_card(folder)), tiny_large.random_adapter()
    assert written.parts.keys() == exact.parts.keys()
    assert (written.head.tolist(), written.bias) == (exact.head.tolist(), pytest.approx(exact.bias))
    for name, values in exact.parts.items():
        largest = np.abs(values).max(axis=1, keepdims=True)
        assert (np.abs(written.parts[name] - values) <= largest / 127 / 2 * 1.001).all()


def test_an_adapter_comes_in_files_of_limited_size(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = LargeModel(tiny_large.write_adapter(tmp_path / "one", base))
    monkeypatch.setattr("rejoinder.models.large.adapter.MOST_BYTES", 4_000)
    several = LargeModel(tiny_large.write_adapter(tmp_path / "several", base))
    assert len(several.card.files) > 2
    assert all((several.folder / name).stat().st_size < 6_000 for name in several.card.files)
    assert several.log_odds(*crossed()).tolist() == one.log_odds(*crossed()).tolist()


def test_calibration_is_slope_and_intercept(base: Path, tmp_path: Path, large: LargeModel) -> None:
    calibration = LargeCalibration(0.5, -1.0)
    other = LargeModel(tiny_large.write_adapter(tmp_path / "calibrated", base, calibration=calibration))
    log_odds = large.log_odds(*crossed())
    assert other.probabilities(*crossed()) == pytest.approx(1 / (1 + np.exp(-(0.5 * log_odds - 1))), abs=1e-6)
    assert other.digest != large.digest


def test_the_metric_scores_counts_and_signs(folder: Path) -> None:
    metric = Aptness("large", str(folder))
    expected = LargeModel(folder).probabilities(*crossed())
    assert metric.score(pairs()) == pytest.approx(expected, abs=1e-6)
    assert metric.cut(pairs()) == [False] * 12
    card = read_large_card(folder)
    signature = rejoinder.signature(metric)
    assert f"|weights:{card.digest()[:12]}|" in signature
    assert f"|base:{tiny_large.NAME} {card.base.sha256[:12]}|" in signature
    assert "|precision:float32|" in signature
    assert (metric.large, metric.one_process, metric.thread_safe, metric.decimals) == (True, True, False, 3)
    assert (Aptness().large, Aptness().one_process, Aptness().thread_safe, Aptness().decimals) == (
        False,
        False,
        True,
        4,
    )
    assert rejoinder.parse(str(metric)) == metric


def test_a_folder_may_lie_anywhere_and_about_decides_nothing(folder: Path, base: Path, tmp_path: Path) -> None:
    other = tiny_large.write_adapter(tmp_path / "other", base, about={"licence": "another"})
    assert LargeModel(other).digest == LargeModel(folder).digest


def test_a_run_has_it_with_its_licences(folder: Path, tmp_path: Path) -> None:
    spec = f"aptness(model='large', folder={str(folder)!r})"
    chats = Path(__file__).parents[1] / "examples" / "chats.jsonl"
    done = CliRunner().invoke(program, ["score", str(chats), "-m", spec, "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    about = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["metrics"][0]
    assert [(use["name"], use["licence"]) for use in about["models"]] == [
        ("aptness", "CC-BY-SA-4.0"),
        (tiny_large.NAME, "Apache-2.0"),
    ]
    assert about["missing"] == 0
    assert json.loads((tmp_path / "run" / "timings.json").read_text(encoding="utf-8"))["processes"] == 1


def test_an_installed_adapter_needs_no_folder(
    folder: Path, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(WeightsMissingError, match=r"needs an adapter; install the distribution rejoinder-large"):
        rejoinder.aptness(CONTEXTS[:1], REPLIES[:1], model="large")
    package = tmp_path / "site" / "rejoinder_large"
    tiny_large.write_adapter(package / "aptness", base)
    (package / "__init__.py").write_text("raise RuntimeError('no code of a set of weights is run')\n")
    about = tmp_path / "site" / "rejoinder_large-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rejoinder-large\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[rejoinder.weights]\nlarge = rejoinder_large\n")
    monkeypatch.syspath_prepend(str(package.parent))
    (score,) = rejoinder.aptness(CONTEXTS[:1], REPLIES[:1], model="large")
    assert score == pytest.approx(LargeModel(folder).probabilities(CONTEXTS[:1], REPLIES[:1])[0], abs=1e-3)
    assert weight_sets.list_weights("large") == {"aptness": "CC-BY-SA-4.0"}
    shown = CliRunner().invoke(program, ["models"], terminal_width=160).output
    assert "rejoinder-large" in shown


def test_its_weights_are_of_no_other_set() -> None:
    with pytest.raises(SpecError, match="model='large' has weights of its own; leave out weights"):
        rejoinder.parse("aptness(model='large', weights='permissive')")
    with pytest.raises(SpecError, match="model='large' has weights of its own"):
        rejoinder.aptness(CONTEXTS[:1], REPLIES[:1], model="large", weights="research")


def test_a_missing_base_says_how_to_get_it_and_how_large_it_is(base: Path, folder: Path) -> None:
    (base.parent / "manifest.json").unlink()
    with pytest.raises(BaseMissingError, match=r"get it \(1\.1 GB\) with: rejoinder models get qwen2\.5-coder-1\.5b"):
        rejoinder.signature(Aptness("large", str(folder)))


def test_without_torch_it_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "find_spec", lambda name: None if name == "torch" else True)
    with pytest.raises(MissingExtraError, match=r'needs torch; install it with: pip install "rejoinder\[torch\]"'):
        open_large(folder)


def test_too_little_memory_says_how_much_is_needed(large: LargeModel, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(memory, "_free_here", lambda: 100_000)
    with pytest.raises(
        memory.TooLittleMemoryError, match=r"needs 0\.0 GB in memory, and 0\.0 GB are free; close other"
    ):
        large.log_odds(*crossed())
    monkeypatch.setattr(memory, "_free_here", lambda: 4_000_000_000)
    with pytest.raises(memory.TooLittleMemoryError, match=r"needs 7\.5 GB in memory, and 4\.0 GB are free"):
        memory.check_memory("it", 1_500_000_000, "cpu")
    monkeypatch.setattr(memory, "_free_here", lambda: None)
    memory.check_memory("it", 1_500_000_000, "cpu")


def test_free_memory_is_that_of_the_machine_or_of_its_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    monkeypatch.setattr(memory, "_MEMORY_FILE", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path)
    assert memory._free_here() == 5_120_000
    (tmp_path / "memory.current").write_text("900\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._free_here() == 5_120_000
    (tmp_path / "memory.max").write_text("1000\n")
    assert memory._free_here() == 400
    monkeypatch.setattr(memory, "_MEMORY_FILE", tmp_path / "none")
    monkeypatch.setattr(memory, "_CONTAINER", tmp_path / "none")
    assert memory._free_here() is None


def test_damaged_and_foreign_files_are_refused(base: Path, folder: Path, tmp_path: Path) -> None:
    part = folder / "adapter-1.safetensors"
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(InputError, match=r"adapter-1\.safetensors: does not match its card"):
        LargeModel(folder).log_odds(*crossed())
    part.unlink()
    with pytest.raises(InputError, match=r"adapter-1\.safetensors: cannot be read"):
        LargeModel(folder).log_odds(*crossed())
    adapter = tiny_large.random_adapter()
    write_large_adapter(tmp_path / "foreign", adapter, LargeBase(tiny_large.NAME, "0" * 64))
    with pytest.raises(InputError, match=r"is not the base of the adapter in .* rejoinder models get qwen"):
        LargeModel(tmp_path / "foreign").log_odds(*crossed())
    adapter.parts["layers.9.mlp.up_proj.a"] = np.ones((1, 1))
    card = read_large_card(folder)
    write_large_adapter(tmp_path / "more", adapter, card.base)
    with pytest.raises(
        InputError, match=r"1 matrices of the adapter \(such as layers\.9\.mlp\.up_proj\.a\) belong to no"
    ):
        LargeModel(tmp_path / "more").log_odds(*crossed())


def test_what_is_not_a_card_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"large\.json: cannot be read .*aptness\(model='large'\)"):
        open_large(tmp_path)
    card = json.loads((folder / "large.json").read_text())
    for change, expected in (
        ({"format": 9}, "is not the card of an adapter in format 1"),
        ({"base": {}}, "a key is missing or wrong"),
        ({"prompt": 2}, "was trained with the prompt 2, not 1"),
    ):
        (folder / "large.json").write_text(json.dumps({**card, **change}))
        with pytest.raises(InputError, match=expected):
            read_large_card(folder)


def test_a_file_that_is_no_base_is_refused(tmp_path: Path) -> None:
    import gguf

    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(InputError, match="is not a GGUF file"):
        GgufFile(tmp_path / "text.gguf")
    for name, architecture in (("other", "llama"), ("empty", "qwen2")):
        writer = gguf.GGUFWriter(str(tmp_path / f"{name}.gguf"), architecture)
        writer.add_block_count(1)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    with pytest.raises(InputError, match="has the architecture 'llama', but only 'qwen2' can be read"):
        GgufFile(tmp_path / "other.gguf")
    with pytest.raises(InputError, match="has no field qwen2"):
        _ = GgufFile(tmp_path / "empty.gguf").shape


def test_long_work_says_once_how_long_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[int, int]] = []
    with open_long_work(LongWork(1_000, lambda done, total: calls.append((done, total)))):
        for before in (0, 100):
            work = long_work.current_long_work(100)
            work.before = before
            work.report("it", 10, 0.1, 100, 12.0)
            work.report("it", 100, 1.0, 100, 120.0)
    assert capsys.readouterr().err == "it: 1,000 replies take about 20 minutes here (50 per minute)\n"
    assert calls == [(10, 1000), (100, 1000), (110, 1000), (200, 1000)]
    long_work.current_long_work(100).report("it", 50, 0.5, 100, 1.0)
    assert capsys.readouterr().err == ""
    long_work.current_long_work(9_000).report("it", 90, 0.01, 9_000, 72.0)
    assert capsys.readouterr().err == "it: 9,000 replies take about 2.0 hours here (75 per minute)\n"


def test_a_run_shows_its_progress_within_a_chunk(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(model._BATCH_LIMITS, "cpu", (1, 16))
    seen: list[tuple[int, int]] = []
    spec = f"aptness(model='large', folder={str(folder)!r})"
    chats = Path(__file__).parents[1] / "examples" / "chats.jsonl"
    run = rejoinder.run([chats], rejoinder.Plan.of([spec]), tmp_path / "run", progress=lambda *at: seen.append(at))
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] == (len(run.scores), len(run.scores))
    assert not any(math.isnan(value) for value in run.scores[spec])
