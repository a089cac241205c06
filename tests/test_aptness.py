"""Aptness without torch: the numbers, what decides them, and what must not."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_aptness
import tiny_models

import rejoinder
from rejoinder.errors import InputError, SpecError
from rejoinder.metrics.aptness import Aptness
from rejoinder.models import aptness_card
from rejoinder.models.aptness.calibration import calibrated_probability, copied_share, log_length, repeated_share
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.models.encoder.aptness import AptnessEncoder
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.types import Item, Pair, Response, Turn

shipped = pytest.mark.skipif(
    not is_model_available(MODELS["aptness"]), reason="the weights of aptness are not in the package"
)
LONG = " ".join(tiny_models.WORDS[i % len(tiny_models.WORDS)] for i in range(300))
CONTEXTS = [
    ["how do you do", "fine thanks"],
    ["the cat sat on the mat"],
    ["what train", "the train leaves at nine", "   ", "ok", "see you", "no", "yes", "so it is"],
    [LONG, "what"],
    ["maybe", LONG],
    ["how do you do", "fine thanks"],
]
REPLIES = ["and you?", "the dog ran", "I think so", "good night", LONG, "and you?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_aptness.write(tmp_path_factory.mktemp("aptness"))


@pytest.fixture
def model(folder: Path) -> AptnessModel:
    return open_aptness(folder)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every text that the encoder was asked for, and the side that it would lose."""
    asked: list[tuple[str, str]] = []
    encode = AptnessEncoder.encode

    def counting(self: AptnessEncoder, texts: Sequence[str], cut: Any = "right") -> Any:
        asked.extend((text, cut) for text in texts)
        return encode(self, texts, cut)

    monkeypatch.setattr(AptnessEncoder, "encode", counting)
    return asked


def pairs_of(contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Pair]:
    return [
        Pair(Item(str(i), tuple(map(Turn, context))), Response(str(i), str(i), "s", reply))
        for i, (context, reply) in enumerate(zip(contexts, replies, strict=True))
    ]


def ids_of(folder: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer

    return list(Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids)


def by_torch(folder: Path, contexts: Any, replies: Any) -> tuple[list[float], list[float]]:
    """Both networks' scores, one pair at a time, written down again from the definition."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    from rejoinder.models.aptness.network import float_networks

    bi, cross = float_networks(folder)
    marks = aptness_card.read_aptness_card(folder).marks

    def vector(ids: list[int]) -> Any:
        row = torch.tensor([[marks.first, *ids, marks.last]])
        return bi(row, torch.ones_like(row))

    cosines, odds = [], []
    with torch.no_grad():
        for context, reply in zip(contexts, replies, strict=True):
            said = [ids_of(folder, text) for text in context if text.strip()]
            answer = ids_of(folder, reply)
            vectors, there = torch.randn(1, 6, 32), torch.zeros(1, 6, dtype=torch.int64)  # what is not there is unread
            for place, ids in enumerate(reversed(said[-6:])):
                vectors[0, place], there[0, place] = vector(ids[-126:]), 1
            whole = bi.context(vectors, there)
            cosines.append(float((whole * bi.reply(vector(answer[:126]))).sum()))
            before = said[0]
            for ids in said[1:]:
                before = [*before, marks.between, *ids]
            first = [marks.first, *before[-96:], marks.last]
            second = [*answer[:128], marks.last]
            row = torch.tensor([[*first, *second]])
            kinds = torch.tensor([[0] * len(first) + [1] * len(second)])
            odds.append(float(cross(row, torch.ones_like(row), kinds)))
    return cosines, odds


def test_the_scores_are_those_of_the_float_networks(folder: Path, model: AptnessModel) -> None:
    cosines, odds = by_torch(folder, CONTEXTS, REPLIES)
    assert model.bi_scores(CONTEXTS, REPLIES) == pytest.approx(cosines, abs=1e-5)
    assert model.cross_scores(CONTEXTS, REPLIES) == pytest.approx(odds, abs=1e-4)
    assert len(set(np.round(cosines, 4))) == 5


def test_a_probability_is_the_logistic_function_of_the_weighted_sum(folder: Path, model: AptnessModel) -> None:
    bi, cross = model.bi_scores(CONTEXTS, REPLIES), model.cross_scores(CONTEXTS, REPLIES)
    common = []
    for context, reply in zip(CONTEXTS, REPLIES, strict=True):
        said = set(ids_of(folder, reply))
        others = [set(ids_of(folder, text)) for text in context if text.strip()]
        common.append(max(len(said & other) / len(said | other) for other in others))
    assert common[1] == 1 / 7  # "the" of: the dog ran, the cat sat on the mat
    expected = {
        "both": 1 / (1 + np.exp(-(2 * bi + 0.5 * cross - 0.3))),
        "bi": 1 / (1 + np.exp(-(3 * bi + 0.1))),
        "cross": 1 / (1 + np.exp(-(0.7 * cross + 0.2 - np.array(common)))),
    }
    for name, values in expected.items():
        found = Aptness(name, str(folder)).score(pairs_of(CONTEXTS, REPLIES))  # type: ignore[arg-type]
        assert found == pytest.approx(values, abs=1e-9)


def test_the_features_of_tokens_are_what_they_say() -> None:
    assert log_length([], [7, 8, 9]) == math.log(4)
    assert copied_share([[1, 2], [3, 4, 5]], [4, 5, 6]) == 2 / 4
    assert copied_share([], [4]) == 0
    assert repeated_share([], [1, 2, 1, 1]) == 0.5
    assert repeated_share([], []) == 0
    assert calibrated_probability({"bi": 1e6, "bias": 0.0}, {"bi": np.array([-1.0, 0.0, 1.0])}) == pytest.approx(
        [0, 0.5, 1]
    )


def test_neither_neighbours_nor_order_nor_threads_change_a_score(
    folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = Aptness(folder=str(folder))
    words = tiny_models.WORDS
    random = np.random.default_rng(0)
    drawn = [[" ".join(random.choice(words, random.integers(1, 40))) for _ in range(2 + i % 9)] for i in range(40)]
    pairs = pairs_of([texts[1:] for texts in drawn], [texts[0] for texts in drawn])
    together = metric.score(pairs)
    for threads, order in ((1, pairs), (3, pairs[::-1])):
        monkeypatch.setenv("REJOINDER_THREADS", str(threads))
        monkeypatch.setenv("REJOINDER_CACHE", str(own_cache / str(threads)))
        found = metric.score(order)
        assert (found if order is pairs else found[::-1]) == pytest.approx(together, abs=5e-6)
    monkeypatch.setenv("REJOINDER_CACHE", str(own_cache / "alone"))
    assert [metric.score([pair])[0] for pair in pairs] == pytest.approx(together, abs=5e-6)


def test_each_turn_of_a_dialogue_is_encoded_once(model: AptnessModel, encoded: list[tuple[str, str]]) -> None:
    turns = [f"i see {a} and {b}" for a in tiny_models.WORDS[:20] for b in tiny_models.WORDS[:3]]
    contexts, replies = [turns[:i] for i in range(1, len(turns))], turns[1:]
    model.bi_scores(contexts[:30], replies[:30])
    model.bi_scores(contexts[20:], replies[20:])  # as another chunk of a run would, with turns that are known by now
    assert sorted(text for text, _ in encoded) == sorted(turns)


def test_only_a_text_that_is_cut_has_two_vectors(model: AptnessModel, encoded: list[tuple[str, str]]) -> None:
    model.bi_scores([["yes", LONG], ["ok"]], ["ok", LONG])
    assert sorted((text[:3], cut) for text, cut in encoded) == [
        ("ok", "left"),
        ("the", "left"),
        ("the", "right"),
        ("yes", "left"),
    ]
    assert model.encoder.encode(["ok"], "left").tolist() == model.encoder.encode(["ok"], "right").tolist()
    first, last = model.encoder.encode([LONG], "right"), model.encoder.encode([LONG], "left")
    assert np.abs(first - last).max() > 1e-3


def test_equal_pairs_are_read_once(folder: Path) -> None:
    model = AptnessModel(folder)
    session = model._cross._session
    rows = []

    class Counting:
        def run(self, names: Any, given: Any) -> Any:
            rows.extend(given["input_ids"].tolist())
            return session.run(names, given)

    model._cross._session = Counting()
    found = model.cross_scores([["yes", "no"]] * 5 + [["no"]], ["ok"] * 6)
    assert len(rows) == 2
    assert len(set(found[:5])) == 1


def test_features_come_one_row_a_pair(model: AptnessModel) -> None:
    found = model.cross_features([["yes"], [], ["no", "ok"]], ["ok", "ok", "yes"])
    assert found.shape == (3, 32)
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["both", "bi", "cross"])
def test_what_says_nothing_has_no_score(folder: Path, model: AptnessModel, name: Any) -> None:
    found = model.probabilities([[], [" ", "\n"], ["yes"], ["", "yes"], ["yes"]], ["ok", "ok", " ", "ok", "ok"], name)
    assert np.isnan(found).tolist() == [True, True, True, False, False]
    assert found[3] == found[4]
    assert model.probabilities([], [], name).tolist() == []


def test_what_looks_like_a_mark_is_plain_text(folder: Path, model: AptnessModel) -> None:
    last = aptness_card.read_aptness_card(folder).marks.last
    before, said = model._tokens([["yes [SEP] no"]], ["[CLS] ok [unused0]"])
    assert last not in before[0][0]
    assert not {last, *before[0][0]} & {aptness_card.read_aptness_card(folder).marks.first}
    assert aptness_card.read_aptness_card(folder).marks.between not in said[0]


def test_a_text_that_is_too_long_is_counted(folder: Path) -> None:
    def cut(context: list[str], reply: str, name: Any) -> bool:
        return Aptness(name, str(folder)).cut(pairs_of([context], [reply]))[0]

    words = LONG.split()
    medium, many = " ".join(words[:60]), ["yes"] * 30
    assert [cut(["yes"], "no", name) for name in ("both", "bi", "cross")] == [False, False, False]
    assert [cut(["yes"], LONG, name) for name in ("both", "bi", "cross")] == [True, True, True]
    assert [cut([LONG], "no", name) for name in ("both", "bi", "cross")] == [True, True, True]
    assert [cut([medium, medium], "no", name) for name in ("both", "bi", "cross")] == [True, False, True]
    assert [cut([LONG, *many], "no", name) for name in ("bi", "cross")] == [False, True]  # too far back for the first
    assert [cut(many, "no", name) for name in ("both", "bi", "cross")] == [False, False, False]
    assert [cut(["yes"] * 48, "no", "cross"), cut(["yes"] * 49, "no", "cross")] == [False, True]


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(SpecError, match="aptness: model must be one of 'both', 'bi', 'cross', 'large', not 'tri'"):
        rejoinder.parse("aptness(model='tri')")


def test_the_signature_names_the_weights(folder: Path, tmp_path: Path) -> None:
    metric = Aptness(folder=str(folder))
    assert f"|weights:{open_aptness(folder).digest[:12]}|" in rejoinder.signature(metric)
    card = aptness_card.read_aptness_card(folder)
    other = aptness_card.AptnessCard(**{**vars(card), "calibration": {"bi": {"bi": 1.0}}})
    assert other.digest() != card.digest()
    assert other.digest(("bi.onnx",)) == card.digest(("bi.onnx",))
    told = aptness_card.AptnessCard(**{**vars(card), "about": {"licence": "another"}})
    assert told.digest() == card.digest()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    folder = tiny_aptness.write(tmp_path / "aptness")
    for name in ("reply.onnx", "cross.onnx", "embeddings.int8", "tokenizer.json"):
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(InputError, match=f"{name}: does not match its card"):
            AptnessModel(folder).probabilities([["yes"]], ["no"])
        (folder / name).write_bytes(whole)
    (folder / "aptness.json").write_text('{"format": 1}')
    with pytest.raises(InputError, match="is not the card of aptness"):
        open_aptness(folder)
    with pytest.raises(InputError, match="cannot be read"):
        open_aptness(tmp_path)


def test_the_bi_encoder_is_an_encoder(folder: Path) -> None:
    encoder = load_encoder(str(folder))
    texts = ["the cat sat", "no", LONG]
    vectors = encoder.encode(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-6)
    tokens = encoder.encode_tokens(texts[:2])
    assert [one.tokens for one in tokens] == [("the", "cat", "sat"), ("no",)]
    for vector, of_tokens in zip(vectors, tokens, strict=False):
        assert of_tokens.special is not None
        mean = np.concatenate([of_tokens.vectors, of_tokens.special]).mean(axis=0)
        assert mean / np.linalg.norm(mean) == pytest.approx(vector, abs=1e-5)
    assert encoder.truncated(texts) == [False, False, True]
    with pytest.raises(SpecError, match="only its last layer"):
        encoder.encode_tokens(["no"], layer=1)
    with pytest.raises(SpecError, match="leave out 'hf:'"):
        load_encoder(f"hf:{folder}")


def test_it_says_how_it_is_called() -> None:
    with pytest.raises(InputError, match="must be lists"):
        rejoinder.aptness("hello", ["hi"])
    with pytest.raises(InputError, match="contexts has 1 entries but responses has 2"):
        rejoinder.aptness([["hello"]], ["hi", "ho"])
    with pytest.raises(InputError, match=r"contexts\[0\] must be a string or a list of strings"):
        rejoinder.aptness([[1]], ["hi"])  # type: ignore[list-item]
    with pytest.raises(SpecError, match="model must be one of"):
        rejoinder.aptness([["hello"]], ["hi"], model="tri")  # type: ignore[arg-type]


@shipped
def test_the_shipped_networks_know_an_answer() -> None:
    contexts = [["Hi, how can I help you?", "What time does the train to Lisbon leave?"]] * 2
    apt, inapt = rejoinder.aptness(contexts, ["It leaves at a quarter to ten.", "My sister is a nurse in Norway."])
    assert apt > inapt
    assert rejoinder.aptness(["How are you?"], ["Fine."]) == rejoinder.aptness([["How are you?"]], ["Fine."])
    assert math.isnan(rejoinder.aptness([["How are you?"]], [" "])[0])


@shipped
def test_the_shipped_networks_keep_their_licence_and_their_size() -> None:
    folder = open_aptness().folder
    assert open_aptness().card.licence == MODELS["aptness"].licence
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 60 * 2**20


@shipped
def test_it_is_the_first_default_wherever_there_is_a_context(tmp_path: Path) -> None:
    referenced, plain = ["bleu", "rouge_l", "meteor", "chrf"], ["context_overlap", "distinct", "length"]
    for contexts, references, expected in (
        ([["How are you?"]], [["Fine."]], ["aptness", *referenced]),
        ([["How are you?"]], None, ["aptness", *plain]),
        (None, [["Fine."]], referenced),
        (None, None, plain),
    ):
        data = rejoinder.from_lists(["Very well."], contexts, references)
        assert list(rejoinder.score(data).values) == expected
        rejoinder.write(data, tmp_path / "chats.jsonl")
        kept = rejoinder.run([tmp_path / "chats.jsonl"], rejoinder.Plan.of([]), tmp_path / "-".join(expected))
        assert list(kept.scores.values) == expected


@shipped
def test_a_score_needs_no_torch(own_cache: Path) -> None:
    code = (
        "import sys, rejoinder\n"
        "print(rejoinder.aptness([['hello, how are you?']], ['fine, thanks']))\n"
        "print([m for m in ('torch', 'transformers', 'onnx', 'scipy') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    score, loaded = done.stdout.splitlines()
    assert 0 < float(score[1:-1]) < 1
    assert loaded == "[]"


# A process that scores, then waits until telemetry would have called home (about nine seconds after its start). From
# the first line on, the kernel kills it if it opens an internet socket, which nobody can ask a name server without.
_OFFLINE = """
import ctypes, os, struct, sys, time
number = {"x86_64": 41, "aarch64": 198}[os.uname().machine]  # of the system call socket
steps = [(0x20, 0, 0, 0), (0x15, 0, 3, number), (0x20, 0, 0, 16), (0x15, 2, 0, 2), (0x15, 1, 0, 10)]
steps += [(0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x80000000)]
code = b"".join(struct.pack("HBBI", *step) for step in steps)
held = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
if sys.argv[1] == "ask":
    import socket
    socket.gethostbyname("example.org")
import rejoinder
print(*rejoinder.aptness([["How do you do?"]], ["Fine, and you?"]))
time.sleep(float(sys.argv[1]))
"""


def _offline(home: Path, argument: str) -> subprocess.CompletedProcess[str]:
    """That process in a home of its own, with nothing of ours in its environment but where the package is."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment = {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(home)}
    return subprocess.run(
        [sys.executable, "-c", _OFFLINE, argument], cwd=home, env=environment, capture_output=True, text=True
    )


@shipped
@pytest.mark.skipif(sys.platform != "linux", reason="system calls are watched by the kernel of Linux")
def test_scoring_writes_nothing_outside_our_cache_and_asks_no_name_server(tmp_path: Path) -> None:
    done = _offline(tmp_path, "15")
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < float(done.stdout) < 1
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and ".cache/rejoinder/" not in path.as_posix()]
    assert outside == []
    assert _offline(tmp_path, "ask").returncode == -signal.SIGSYS  # the watch works
