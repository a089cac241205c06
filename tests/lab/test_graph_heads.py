"""DynaEval and GRADE trained here: damaged dialogues, keywords and their graph, from training to scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tiny_heads
import tiny_models
from rejoinder_lab.models.grade.concepts import NODES, ConceptGraph
from rejoinder_lab.models.grade.graph import UNREACHABLE

import rejoinder
from rejoinder.data.knowledge import KnowledgeTriple
from rejoinder.errors import InputError
from rejoinder.metric import Metric
from rejoinder.types import Item, Pair, Response, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.models.dynaeval.head import score_dialogues  # noqa: E402
from rejoinder_lab.models.grade.head import stack_graphs  # noqa: E402
from rejoinder_lab.models.grade.head_network import GradeHeadNetwork, attend_edges  # noqa: E402
from rejoinder_lab.training.heads.dynaeval import damage_dialogue, start_dynaeval_network, train_dynaeval  # noqa: E402
from rejoinder_lab.training.heads.grade import TrainingReplies, select_concepts, train_grade  # noqa: E402
from rejoinder_lab.training.next_turns import NextTurn  # noqa: E402
from rejoinder_lab.training.recipes import DynaEvalRecipe, GradeRecipe  # noqa: E402

TRIPLES = [
    KnowledgeTriple("train", "UsedFor", "fast travel"),
    KnowledgeTriple("cat", "AtLocation", "mat"),
    KnowledgeTriple("good night", "HasContext", "night"),
    KnowledgeTriple("help", "Causes", "thanks"),
]
CONCEPTS = ConceptGraph(("cat mat dog", "mat cat", "dog", "train fast", "fast train", "night"))


@pytest.fixture(autouse=True)
def tiny_minilm(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_THREADS", "1")  # tiny matrices only wait for each other
    tiny_models.install(own_cache)


def mean_scores(metric: Metric) -> tuple[float, float]:
    """The mean score of replies that stay with the topic, and of those that do not."""
    scores: tuple[list[Pair], list[Pair]] = ([], [])
    for i, topic in enumerate(tiny_heads.TOPICS):
        item = Item("i", (Turn(topic[0], "A"), Turn(topic[1], "B")))
        for kind, texts in zip(scores, (topic, tiny_heads.TOPICS[i - 1]), strict=True):
            kind += [Pair(item, Response("r", "i", "s", text)) for text in texts[2:]]
    return float(np.mean(metric.score(scores[0]))), float(np.mean(metric.score(scores[1])))


# DynaEval


def test_only_the_turns_of_one_speaker_are_damaged() -> None:
    draw = np.random.default_rng(0)
    rows = list(range(6))
    kinds = set()
    for _ in range(60):
        pair = damage_dialogue(rows, [(-100, 0), (6, 200)], draw)
        changed = [i for i in rows if pair.damaged[i] != i]
        assert pair.true == rows
        assert changed
        assert len({i % 2 for i in changed}) == 1
        assert len(changed) == 1 if pair.damage == "replaced" else sorted(pair.damaged) == rows
        assert len(set(pair.damaged)) == 6  # no turn of the same dialogue comes twice
        kinds.add(pair.damage)
    assert kinds == {"replaced", "shuffled"}
    assert damage_dialogue([0, 1], [(-5, 0), (2, 2)], draw).damaged != [0, 1]
    assert {damage_dialogue([0, 1, 2], [(-5, 0), (3, 9)], draw).damage for _ in range(20)} == kinds


def test_dialogues_of_several_lengths_score_as_one_by_one() -> None:
    torch.manual_seed(0)
    sizes = {"sentence": 6, "width": 4, "bases": 2, "first": 4, "second": 4, "hidden": 4}
    network = start_dynaeval_network(sizes)
    vectors = torch.randn(9, 6)
    dialogues = [[0, 1, 2], [3, 4], [5, 6, 7], [8, 0, 1, 2]]
    with torch.no_grad():
        found = score_dialogues(network, vectors, dialogues, 4, 4)
        alone = [float(network(vectors[rows][None], torch.arange(len(rows)) % 2, 4, 4)) for rows in dialogues]
    assert found.tolist() == pytest.approx(alone, abs=1e-6)


def test_dynaeval_is_trained_to_a_folder_that_scores(tmp_path: Path) -> None:
    recipe = DynaEvalRecipe(width=8, bases=2, hidden=8, epochs=25, batch=8, rate=1e-2)
    folder = tmp_path / "dynaeval"
    card = train_dynaeval(tiny_heads.make_data(recipe), folder, recipe, "cpu", lambda line: None)
    assert card.about["measured"]["true_above_damaged"] > 0.55
    good, bad = mean_scores(rejoinder.parse(f"dynaeval(folder={str(folder)!r})"))
    assert good > bad
    other = tmp_path / "again"
    assert train_dynaeval(tiny_heads.make_data(recipe), other, recipe, "cpu", lambda line: None) == card


def test_a_corpus_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match="no dialogue belongs to the corpus 'tin'"):
        tiny_heads.make_data(DynaEvalRecipe(), "tin")


# GRADE


def test_keywords_are_known_words_with_or_without_an_ending() -> None:
    assert CONCEPTS.keywords("The cats saw a Dog; trained, not.") == [1, 3, 4]


def test_steps_are_counted_to_two() -> None:
    cat, mat, dog, train = (CONCEPTS.numbers[word] for word in ("cat", "mat", "dog", "train"))
    assert CONCEPTS.steps(cat, cat) == CONCEPTS.steps(cat, mat) == CONCEPTS.steps(mat, cat) == 1
    assert CONCEPTS.steps(mat, dog) == 2  # through the cat
    assert CONCEPTS.steps(cat, train) == UNREACHABLE


def test_edges_join_keywords_of_the_context_with_those_of_the_reply() -> None:
    nodes, edges = (
        part[0].numpy() for part in stack_graphs(CONCEPTS, [["my dog", "a mat"]], ["the cat ran to the train"])
    )
    assert nodes[nodes > 0].tolist() == [3, 2, 1, 4]
    assert edges[0, NODES] == edges[NODES, 0] == 1  # dog and cat
    assert edges[1, NODES + 1] == pytest.approx(1 / UNREACHABLE)  # mat and train
    assert edges[0, 1] == 0  # both of the context
    assert edges[0, 0] == 1
    assert not edges[2].any()  # no keyword


def test_attention_is_a_mean_over_the_edges_computed_node_by_node() -> None:
    draw = np.random.default_rng(0)
    states, edges = draw.normal(size=(3, 2)), np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    attend = torch.nn.Linear(2, 2, bias=False)
    weight = attend.weight.detach().numpy()
    expected = []
    for i in range(3):
        scores = np.array([states[i] @ weight[1] + states[j] @ weight[0] for j in range(3)])
        raised = np.exp(np.where(scores > 0, scores, 0.2 * scores)) * edges[i]
        expected.append(raised @ states / raised.sum())
    found = attend_edges(torch.tensor(states).float()[None], attend, torch.tensor(edges).float()[None])[0]
    assert found.detach().numpy() == pytest.approx(np.array(expected), abs=1e-5)


def test_a_pair_without_keywords_has_no_topic() -> None:
    network = GradeHeadNetwork(CONCEPTS.listed, 4, 3, 3, 2)
    topic = network.topic(*stack_graphs(CONCEPTS, [["hm"]], ["well"]))
    assert not topic.any()


def test_concepts_are_words_of_the_texts_that_the_knowledge_joins() -> None:
    texts = ["the fast train", "a train", "my cat on the mat", "good night"]
    found = select_concepts(texts, TRIPLES, 3, 8)
    assert found.lines == ("train fast", "cat", "fast train")  # the mat is fourth by its count and name
    with pytest.raises(InputError, match="no word of the dialogues has a neighbour"):
        select_concepts(["xylophone"], TRIPLES, 3, 8)


def test_negatives_share_a_rare_word_or_are_near_and_never_the_same_text() -> None:
    class Letters:
        dimensions = 2

        def encode(self, texts: list[str], cut: str = "right") -> np.ndarray:
            return np.array([[len(text), 1] for text in texts], np.float32)

    replies = ["a lunatic here", "the lunatic", "yes", "no", "yes"]
    places = TrainingReplies.of(Letters(), CONCEPTS, [NextTurn(("hello",), text) for text in replies])  # type: ignore[arg-type]
    lexical, nearest = places.negatives(np.random.default_rng(0))
    assert replies[lexical[0]] == "the lunatic"
    assert all(replies[i] != replies[j] for i, j in enumerate(nearest))


def test_grade_is_trained_to_a_folder_that_scores(tmp_path: Path) -> None:
    recipe = GradeRecipe(keywords=8, topic=4, utterance=8, hidden=8, epochs=6, batch=32, rate=1e-2)
    folder = tmp_path / "grade"
    card = train_grade(tiny_heads.make_data(recipe), folder, recipe, TRIPLES, "cpu", lambda line: None)
    assert 0 < card.about["measured"]["true_above_both_kinds"] <= 1
    metric = rejoinder.parse(f"grade(folder={str(folder)!r})")
    good, bad = mean_scores(metric)
    assert good > bad
    assert metric.details()["weights"] == card.digest()[:12]
