"""GRADE's adapter: the authors' network rebuilt step by step in numpy, their layout, what is said when a part lacks."""

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
import tiny_models
from rejoinder_lab.metrics.grade import Grade
from rejoinder_lab.models.grade.graph import KeywordConcepts, _build_edges, _drop_edges, build_keyword_graph
from rejoinder_lab.models.grade.keywords import EnglishTagger, read_rarity, write_rarity
from rejoinder_lab.models.grade.model import GradeModel, open_grade, truncate_pair

import rejoinder
from rejoinder import cli
from rejoinder.errors import InputError, SpecError
from rejoinder.models.translation.checkpoint import CheckpointMissingError, read_checkpoint_weights
from rejoinder.types import Item, Pair, Response, Turn

pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("nltk", reason="nltk is not installed")

CHECKPOINT = "output/71/GRADE_K2_N10_N10/model_eval_best_71.ckpt"
CONTEXTS = [
    ["the train leaves at nine", "i think so"],
    ["a cat and a dog", "the cats love the night"],
    ["ha ha", "yes"],
    ["what trains, what trains?"],
]
REPLIES = ["the trains leaving", "good dog", "no", "the kiosk and the mice and the dog"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_grade(tmp_path_factory.mktemp("grade"))


@pytest.fixture
def own(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(folder, tmp_path / "GRADE"))


@pytest.fixture(scope="module")
def weights(folder: Path) -> dict[str, Any]:
    return {name: value.numpy() for name, value in read_checkpoint_weights(folder / CHECKPOINT, "model").items()}


def pairs(contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[Pair]:
    return [
        Pair(
            Item(f"i{i}", tuple(Turn(text, "AB"[j % 2]) for j, text in enumerate(c))),
            Response(f"r{i}", f"i{i}", "s", r),
        )
        for i, (c, r) in enumerate(zip(contexts, replies, strict=True))
    ]


# --- the network in numpy, one pair at a time, in the order of the authors' code ---


def linear(w: dict[str, Any], name: str, x: Any) -> Any:
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


def elu(x: Any) -> Any:
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def norm(w: dict[str, Any], name: str, x: Any) -> Any:
    middle, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - middle) / np.sqrt(spread + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"]


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def bert(w: dict[str, Any], ids: Sequence[int], segments: Sequence[int]) -> Any:
    w = {name.removeprefix("bert_encoder."): value for name, value in w.items() if name.startswith("bert_encoder.")}
    x = np.stack(
        [
            w["word_embedder._embedding"][t]
            + w["segment_embedder._embedding"][s]
            + w["position_embedder._embedding"][p]
            for p, (t, s) in enumerate(zip(ids, segments, strict=True))
        ]
    )
    x = norm(w, "encoder.input_normalizer", x)
    for i in range(tiny.LAYERS):
        q, k, v = (np.stack([linear(w, f"encoder.self_attns.{i}.{p}_dense", row) for row in x]) for p in "QKV")
        heads = []
        for h in range(tiny.HIDDEN // 64):
            part = slice(64 * h, 64 * (h + 1))
            heads.append(softmax(q[:, part] @ k[:, part].T / 8, 1) @ v[:, part])
        seen = np.concatenate(heads, axis=1)
        x = x + np.stack([linear(w, f"encoder.self_attns.{i}.O_dense", row) for row in seen])
        x = norm(w, f"encoder.poswise_layer_norm.{i}", x)
        inner = np.stack([linear(w, f"encoder.poswise_networks.{i}._layers.0", row) for row in x])
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = x + np.stack([linear(w, f"encoder.poswise_networks.{i}._layers.2", row) for row in inner])
        x = norm(w, f"encoder.output_layer_norm.{i}", x)
    return np.tanh(linear(w, "pooler.0", x[0]))


def attention(w: dict[str, Any], name: str, nodes: Any, edges: Any) -> Any:
    n, found = len(nodes), []
    for head in range(tiny.HEADS):
        h = nodes @ w[f"{name}.heads.{head}.W"]
        first = [h[i] for i in range(n) for _ in range(n)]
        second = [h[j] for _ in range(n) for j in range(n)]
        lined = np.stack(first + second).reshape(n, n, 2 * h.shape[1])  # one below the other, then cut anew
        scores = (lined @ w[f"{name}.heads.{head}.a"])[:, :, 0]
        scores = np.where(scores > 0, scores, 0.2 * scores)
        found.append(softmax(np.where(edges > 0, scores, -9e15) * edges, 0) @ h)
    return np.concatenate(found, axis=1)


def graph(context: list[str], reply: list[str], folder: Path) -> tuple[list[int], int, Any, Any, Any]:
    """Ids, length, both neighbours' vectors and the edges of keywords, all edges kept."""
    data = folder / "data" / "DailyDialog"
    ids = {word: i + 4 for i, word in enumerate(tiny.KEYWORDS)}
    taken = (context + reply)[:16]
    line = [1, *(ids.get(word, 3) for word in taken), 2]
    length = len(line)
    line += [0] * (18 - length)
    vectors = []
    for name in ("1st_hop_nr10.embedding", "2nd_hop_nr10.embedding"):
        rows = [text.split(" ") for text in (data / name).read_text().splitlines()]
        known = {word: np.array([float(value) for value in values]) for word, *values in rows}
        matrix = np.zeros((18, tiny.DIMENSIONS))
        for place, number in enumerate(line):
            word = tiny.KEYWORDS[number - 4] if number > 3 else None
            if word in known:
                matrix[place] = known[word]
        vectors.append(matrix)
    edges = np.zeros((18, 18))
    for s, source in enumerate([None, *context[:16]]):
        for t, target in enumerate([None, *reply[:16]]):
            if source is None or target is None:
                continue
            hop = tiny.STEPS.get((source, target), 20)
            edges[s][t] = edges[t][s] = 1 / (20 if hop == -1 else hop)
    edges = edges + np.eye(18)
    scale = np.diag(edges.sum(1) ** -0.5)
    return line, length, *vectors, scale @ edges @ scale


def score(w: dict[str, Any], tokens: tuple[list[int], list[int]], of_graph: Any) -> float:
    line, length, near, far, edges = of_graph
    nodes = w["word_embedder._embedding"][line]
    nodes = nodes + linear(w, "linear_onehop_weight._linear_layer", near.reshape(-1))
    nodes = nodes + linear(w, "linear_twohop_weight._linear_layer", far.reshape(-1))
    for i in (1, 2, 3):
        nodes = elu(linear(w, f"linear0_{i}._linear_layer", nodes.reshape(-1)) + attention(w, f"gat_{i}", nodes, edges))
    topic = elu(linear(w, "linear1._linear_layer", nodes.sum(0) / length))
    joint = np.concatenate([linear(w, "linear2_1._linear_layer", bert(w, *tokens)), topic])
    last = elu(linear(w, "linear4_1._linear_layer", elu(linear(w, "linear3._linear_layer", joint))))
    return float(1 / (1 + np.exp(-linear(w, "linear5._linear_layer", last)[0])))


def tokens_of(context: Sequence[str], reply: str) -> tuple[list[int], list[int]]:
    """[CLS] a [SEP] b [SEP] of the tokeniser that the vocabulary was taken from, without its first token."""
    core = tiny_models.word_pieces()
    first = core.encode(" ".join(context), add_special_tokens=False).ids
    second = core.encode(reply, add_special_tokens=False).ids
    mark = core.token_to_id("[SEP]")
    return [*first, mark, *second, mark], [0] * (len(first) + 1) + [1] * (len(second) + 1)


# --- keywords, computed by hand: weight of the tag * count / words * idf > .15 ---
KEYWORDS_BY_HAND = {
    "the train leaves at nine": ["train", "leave"],  # 2/5*1.5, 1/5*1.25
    "i think so": ["think"],  # 1/3*1
    "a cat and a dog": ["cat", "dog"],
    "the cats love the night": ["cat", "love", "night"],
    "the trains leaving": ["train", "leave"],
    "good dog": ["good", "dog"],
    "what trains, what trains?": ["train", "train"],
    "the kiosk and the mice and the dog": ["kiosk", "mouse", "dog"],
    "ha ha": [],
    "yes": [],
    "no": [],
    "the clock": [],  # 2/2*.01
    "Think. Think": ["think", "think"],
}


def test_keywords_are_nouns_verbs_and_adjectives_of_high_tf_idf(folder: Path) -> None:
    model = open_grade(str(folder))
    assert {text: model.keywords(text) for text in KEYWORDS_BY_HAND} == KEYWORDS_BY_HAND


def test_the_forward_pass_is_that_of_the_authors(folder: Path, weights: dict[str, Any]) -> None:
    found = open_grade(str(folder)).scores(CONTEXTS, REPLIES, keep=1.0, seed=0)
    expected = []
    for context, reply in zip(CONTEXTS, REPLIES, strict=True):
        before = [word for text in context for word in KEYWORDS_BY_HAND[text]]
        expected.append(score(weights, tokens_of(context, reply), graph(before, KEYWORDS_BY_HAND[reply], folder)))
    assert found == pytest.approx(expected, abs=2e-6)
    assert np.ptp(expected) > 1e-3  # the comparison would see nothing if all were alike


def test_the_graph_and_the_texts_both_decide_the_score(folder: Path) -> None:
    model = open_grade(str(folder))
    for context, reply in [(["the cat", "the dog"], "the night"), (["a cat", "a dog"], "a cat")]:
        with_graph = model.scores([context], [reply], 1.0, 0)[0]
        other = model.scores([context], [reply.replace("the night", "the train").replace("a cat", "a dog")], 1.0, 0)[0]
        assert abs(with_graph - other) > 1e-6


def test_both_layouts_and_every_batch_give_the_same(folder: Path, tmp_path: Path) -> None:
    flat = Grade(folder=str(tiny.write_grade(tmp_path / "flat", flat=True)))
    given = pairs(CONTEXTS, REPLIES)
    one_by_one = [flat.score([pair])[0] for pair in given]
    assert Grade(folder=str(folder)).score(given) == pytest.approx(one_by_one, abs=1e-6)


def test_edges_are_dropped_by_the_seed_and_the_pair_alone(folder: Path) -> None:
    model = open_grade(str(folder))
    context, reply = ["cat dog night train love"], "dog cat train night think"
    kept = {seed: model.graph(context, reply, 0.8, seed).edges for seed in range(20)}
    whole = model.graph(context, reply, 1.0, 0).edges
    assert np.array_equal(kept[3], model.graph(context, reply, 0.8, 3).edges)
    assert len({edges.tobytes() for edges in kept.values()}) > 10
    loops = np.eye(18, dtype=bool)
    edges = int((whole[~loops] > 0).sum())  # those of a place to itself are dropped before and added again
    counts = {int((found[~loops] > 0).sum()) for found in kept.values()}
    assert all(count < edges for count in counts)
    assert min(counts) >= math.floor(0.8 * (edges + 5)) - 5


def test_a_share_of_the_edges_is_left_counted_by_hand() -> None:
    words = [f"w{i}" for i in range(6)]
    concepts = KeywordConcepts({word: i + 4 for i, word in enumerate(words)}, {}, {}, {})
    # The context stands in places 1 and 2, the reply in 1 to 4. So 1-1, 2-2 and, both ways, 1-2, 1-3, 1-4, 2-3 and 2-4
    # are edges: 12, of which 7 are left at .6.
    edges = _build_edges(concepts, words[:2], words[2:], 18)
    assert np.count_nonzero(edges) == 12
    _drop_edges(edges, 0.6, np.random.default_rng(0))
    assert np.count_nonzero(edges) == 7
    assert set(edges[edges > 0]) == {1 / 20}


def test_the_normal_form_of_the_edges_is_computed_by_hand() -> None:
    concepts = KeywordConcepts({"a": 4, "b": 5}, {}, {}, {("a", "b"): 4})
    found = build_keyword_graph(concepts, ["x", "a"], ["b"], 18, 3, keep=1.0, seed=0)
    # b stands in place 1, x in 1 and a in 2: x-b is 1/20 at (1, 1), a-b is 1/4 at (2, 1) and (1, 2).
    sums = {1: 1 + 1 / 20 + 1 / 4, 2: 1 + 1 / 4}
    assert found.edges[1, 1] == pytest.approx((1 + 1 / 20) / sums[1])
    assert found.edges[1, 2] == found.edges[2, 1] == pytest.approx(0.25 / math.sqrt(sums[1] * sums[2]))
    assert found.edges[2, 2] == pytest.approx(1 / sums[2])
    assert found.ids.tolist()[:6] == [1, 3, 4, 5, 2, 0]
    assert found.length == 5


def test_more_keywords_than_places_lose_the_last(folder: Path) -> None:
    metric = Grade(folder=str(folder), turns=5, keep=1.0)
    long = pairs([["cat dog"] * 5], ["night train love " * 3])
    short = pairs([["cat dog"] * 2], ["night"])
    assert metric.cut(long) == [True]
    assert metric.cut(short) == [False]
    found = open_grade(str(folder)).graph(["cat dog"] * 5, "night train love " * 3, 1.0, 0)
    assert found.length == 18


def test_the_longer_of_two_texts_loses_its_end() -> None:
    assert truncate_pair([1, 2, 3, 4, 5], [6, 7], 5) == ([1, 2, 3], [6, 7])
    assert truncate_pair([1, 2], [3, 4], 3) == ([1, 2], [3])
    assert truncate_pair([1, 2], [3, 4], 4) == ([1, 2], [3, 4])


def test_long_texts_are_cut_and_say_so(folder: Path) -> None:
    metric = Grade(folder=str(folder), keep=1.0)
    given = pairs([["yes"], ["the " * 200], ["yes"]], ["no", "no", "no " * 126])
    assert metric.cut(given) == [False, True, True]
    assert not any(math.isnan(value) for value in metric.score(given))


def test_only_the_last_turns_are_read(folder: Path) -> None:
    two = Grade(folder=str(folder))
    short, long = pairs([["a cat", "a dog"]], ["good"])[0], pairs([["the train", "a cat", "a dog"]], ["good"])[0]
    assert two.score([short]) == two.score([long])
    three = Grade(folder=str(folder), turns=3)
    assert three.score([short]) != three.score([long])


def test_a_pair_that_says_nothing_has_no_score(folder: Path) -> None:
    found = Grade(folder=str(folder)).score(pairs([["  "], ["yes"], ["yes"]], ["hello", " ", "yes"]))
    assert [math.isnan(value) for value in found] == [True, True, False]


def test_lemmas_follow_the_rules_and_the_exceptions(folder: Path) -> None:
    found = {word.text: word.lemma for word in EnglishTagger(folder).words("trains mice leaving better at kiosk")}
    expected = {"trains": "train", "mice": "mouse", "leaving": "leave", "better": "good", "at": "at", "kiosk": "kiosk"}
    assert found == expected


def test_rarity_is_counted_over_utterances(own: Path) -> None:
    write_rarity(own, ["the cat", "a cat and a dog", "yes", "a dog, a dog"])
    idf = orjson.loads((own / "idf.json").read_bytes())
    assert idf["cat"] == pytest.approx(math.log10(4 / 3))  # in two of four utterances
    assert idf["yes"] == pytest.approx(math.log10(4 / 2))
    assert sorted((own / "candi_keywords.txt").read_text().split()) == ["cat", "dog"]
    assert read_rarity(own).idf["dog"] == idf["dog"]
    with pytest.raises(InputError, match="no utterances"):
        write_rarity(own, [])


def test_without_a_folder_it_says_what_to_get_and_where() -> None:
    with pytest.raises(
        CheckpointMissingError, match=r"no folder was given; get the files .* from https://github\.com/li3cmz"
    ):
        Grade(folder="authors").score(pairs(CONTEXTS, REPLIES))
    with pytest.raises(CheckpointMissingError, match="nowhere is not a folder"):
        Grade(folder="nowhere").score(pairs(CONTEXTS, REPLIES))


def test_the_cache_is_looked_at_when_no_folder_is_named(folder: Path, own_cache: Path) -> None:
    tiny.install(own_cache, "grade")
    given = pairs(CONTEXTS, REPLIES)
    assert Grade(folder="authors").score(given) == pytest.approx(Grade(folder=str(folder)).score(given))


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (CHECKPOINT, "the checkpoint"),
        ("vocab.txt", "the vocabulary of bert-base-uncased"),
        ("data/DailyDialog/keyword.vocab", "the list of keywords"),
        ("data/DailyDialog/dialog_keyword_tuples_multiGraph.hop", "steps between keywords"),
        ("data/DailyDialog/2nd_hop_nr10.embedding", "neighbours two steps away"),
        ("idf.json", "idf.json, which rejoinder_lab.write_rarity makes from a corpus"),
        ("nltk_data/corpora/wordnet/verb.exc", "a file of NLTK's data"),
    ],
)
def test_a_file_that_lacks_is_named(own: Path, name: str, what: str) -> None:
    (own / name).unlink()
    with pytest.raises(InputError, match=re.escape(what)) as caught:
        open_grade(str(own))
    assert Path(name).name in str(caught.value) or "model_eval_best_*.ckpt" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_checkpoints_are_one_too_many(own: Path) -> None:
    other = own / "output" / "72" / "GRADE_K2_N10_N10"
    other.mkdir(parents=True)
    shutil.copy(own / CHECKPOINT, other / "model_eval_best_72.ckpt")
    with pytest.raises(InputError, match="several files that may be the checkpoint"):
        open_grade(str(own))


def change(own: Path, **changed: Any) -> Path:
    """The checkpoint with some weights replaced (or, with None, left out); a double underscore stands for a dot."""
    import torch

    states = torch.load(own / CHECKPOINT, weights_only=True)
    for name, value in changed.items():
        key = f"module.{name.replace('__', '.')}"
        del states["model"][key]
        if value is not None:
            states["model"][key] = value
    torch.save(states, own / CHECKPOINT)
    return own


def test_weights_that_lack_are_counted_and_named(own: Path) -> None:
    change(own, gat_2__heads__3__W=None, bert_encoder__pooler__0__bias=None)
    with pytest.raises(InputError, match=r"lacks 2 of the \d+ weights \(bert_encoder\.pooler\.0\.bias, gat_2\.h"):
        open_grade(str(own))


def test_a_weight_that_decides_a_size_is_named_when_it_lacks(own: Path) -> None:
    change(own, linear3___linear_layer__weight=None)
    with pytest.raises(InputError, match=r"has no weight 'linear3\._linear_layer\.weight'"):
        open_grade(str(own))


def test_a_weight_of_another_shape_is_told(own: Path) -> None:
    import torch

    change(own, linear2_1___linear_layer__weight=torch.zeros(8, 7))
    with pytest.raises(
        InputError,
        match=r"'linear2_1\._linear_layer\.weight' has the shape \(8, 7\); the other weights require \(8, 128\)",
    ):
        open_grade(str(own))


def test_weights_that_the_network_does_not_use_may_lack(own: Path) -> None:
    change(own, linear4_2___linear_layer__weight=None, linear4_2___linear_layer__bias=None)
    assert isinstance(open_grade(str(own)), GradeModel)


def test_a_pickle_that_would_run_something_is_refused(own: Path) -> None:
    import torch

    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return print, ("run",)

    torch.save({"model": Trap()}, own / CHECKPOINT)
    with pytest.raises(InputError, match="is not a checkpoint that can be read safely"):
        open_grade(str(own))
    (own / CHECKPOINT).write_bytes(b"no checkpoint")
    with pytest.raises(InputError, match="is not a checkpoint that can be read safely"):
        open_grade(str(own))
    torch.save([1, 2], own / CHECKPOINT)
    with pytest.raises(InputError, match="does not contain a state dict under 'model'"):
        open_grade(str(own))


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (
            "data/DailyDialog/keyword.vocab",
            "train\nleave\n",
            r"has 2 distinct keywords on 2 lines, but .* trained on 10",
        ),
        ("data/DailyDialog/1st_hop_nr10.embedding", "cat 1 2\n", "line 1: is not a keyword and 12 numbers"),
        ("data/DailyDialog/1st_hop_nr10.embedding", "cat" + " x" * 12, "line 1: is not a keyword and 12 numbers"),
        ("data/DailyDialog/dialog_keyword_tuples_multiGraph.hop", "a|||b|||0\n", "line 1: is not keyword"),
        ("data/DailyDialog/dialog_keyword_tuples_multiGraph.hop", "\na b 3\n", "line 2: is not keyword"),
        ("vocab.txt", "[PAD]\n[SEP]\n", r"has no \[UNK\]"),
        ("vocab.txt", "[UNK]\n[SEP]\n", "has 2 tokens, but the checkpoint's BERT has"),
        ("idf.json", "{", "is not JSON"),
        ("idf.json", '{"train": "rare"}', "must map each word to a number"),
        ("idf.json", "{}", "has no number for 'train'"),
    ],
)
def test_a_damaged_file_is_told_in_one_sentence(own: Path, name: str, content: str, told: str) -> None:
    (own / name).write_text(content)
    with pytest.raises(InputError, match=told) as caught:
        Grade(folder=str(own)).score(pairs(CONTEXTS, REPLIES))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", ["grade(turns=0)", "grade(keep=1.5)", "grade(seed=-1)", "grade(keep=True)"])
def test_a_parameter_that_means_nothing_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="grade: "):
        rejoinder.parse(spec)


def test_the_signature_names_the_files(folder: Path, own: Path) -> None:
    before = Grade(folder=str(folder)).details()
    assert before == Grade(folder=str(own)).details()
    (own / "idf.json").write_bytes(orjson.dumps({**tiny.IDF, "cat": 0.5}))
    (own / CHECKPOINT).touch()
    assert Grade(folder=str(own)).details() != before


def test_it_runs_from_the_command_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / "GRADE")
    lines = []
    for i, (context, reply) in enumerate(zip(CONTEXTS, REPLIES, strict=True)):
        turns = [{"text": text, "speaker": "AB"[j % 2]} for j, text in enumerate(context)]
        lines.append({"kind": "item", "id": f"i{i}", "context": turns})
        lines.append({"kind": "response", "id": f"r{i}", "item": f"i{i}", "system": "bot", "text": reply})
    (tmp_path / "chats.jsonl").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    monkeypatch.setattr(sys, "argv", ["rejoinder", "score", "chats.jsonl", "-m", "grade(folder='GRADE')", "-o", "out"])
    cli.main()
    shown = capfd.readouterr()
    assert "grade(folder='GRADE')" in shown.out
    assert re.search(r"weights:[0-9a-f]{12}", shown.err)
    monkeypatch.setattr(
        sys, "argv", ["rejoinder", "score", "chats.jsonl", "-m", "grade(folder='authors')", "-o", "other"]
    )
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert "https://github.com/li3cmz/GRADE" in capfd.readouterr().err
