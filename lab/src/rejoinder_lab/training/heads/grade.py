"""The recipe of `grade` (Huang et al. 2020): the true reply must score above two kinds of false ones, by a margin.

A lexical negative shares a rare word with the true reply; an embedding-based one is the nearest by vectors among some
random replies. Both are drawn anew in each epoch. Keywords are frequent words of the dialogues that ConceptNet knows;
their vectors start as principal components of the encoder's. The epoch that ranks the most replies of the split
``valid`` right is kept. No rating is used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from rejoinder.data.knowledge import KnowledgeTriple
from rejoinder.errors import InputError
from rejoinder.models.base import Encoder, Vectors
from rejoinder.models.device import training_device
from rejoinder.text.rarity import split_runs, word_rarity
from rejoinder.text.tokens import FUNCTION_WORDS
from rejoinder_lab.models.grade.concepts import ConceptGraph
from rejoinder_lab.models.grade.head_network import GradeHeadNetwork
from rejoinder_lab.models.head.bilinear import reduce_vectors
from rejoinder_lab.models.head.model import HeadCard, encode_texts
from rejoinder_lab.models.head.pairs import join_features
from rejoinder_lab.training.heads.adem import find_components
from rejoinder_lab.training.heads.bert_ruber import encode_next_turns
from rejoinder_lab.training.heads.dialogues import HeadData, list_next_turns
from rejoinder_lab.training.next_turns import NextTurn
from rejoinder_lab.training.optimizer import LearningRateSchedule, build_optimizer
from rejoinder_lab.training.recipes import GradeRecipe

_TURNS = 2  # of a context, as the metric reads by default
_POOL = 20  # random replies, of which the nearest is an embedding-based negative


def train_grade(
    data: HeadData,
    target: Path,
    recipe: GradeRecipe,
    triples: Iterable[KnowledgeTriple],
    device: str | None = None,
    log: Callable[[str], None] = print,
) -> HeadCard:
    """Train on the split ``train``, choose the epoch on ``valid``, and write the folder."""
    data.about["knowledge"] = "ConceptNet-100K"
    train, valid = list_next_turns(data.train), list_next_turns(data.valid)
    concepts = select_concepts([one.reply for one in train], triples, recipe.keywords, recipe.neighbours)
    log(f"encoding {len(train):,} contexts and replies and {len(concepts.lines):,} keywords")
    torch.manual_seed(recipe.seed)
    torch.set_num_threads(1)  # on a CPU, matrices this small would only wait for each other
    network = start_grade_network(concepts, data.encoder, recipe).to(training_device(device))
    places = [TrainingReplies.of(data.encoder, concepts, next_turns) for next_turns in (train, valid)]
    shares = fit_grade(network, places[0], places[1], recipe, log)
    measured = {"true_above_both_kinds": round(max(shares), 4), "replies": len(valid)}
    weights = {name: value.cpu().numpy() for name, value in network.state_dict().items()}
    settings = {"concepts": list(concepts.lines)}
    return data.write(target, "grade", weights, measured, "Huang et al. 2020", settings)


def select_concepts(
    texts: Iterable[str], triples: Iterable[KnowledgeTriple], keywords: int, neighbours: int
) -> ConceptGraph:
    """Return the most frequent content words of texts that have a neighbour, with those that are most often near."""
    counts = Counter(w for text in texts for w in split_runs(text) if len(w) > 2 and w not in FUNCTION_WORDS)
    near: dict[str, Counter[str]] = defaultdict(Counter)
    for triple in triples:
        heads, tails = ([w for w in split_runs(part) if w in counts] for part in (triple.head, triple.tail))
        for head in heads:
            for tail in tails:
                if head != tail:
                    near[head][tail] += 1
                    near[tail][head] += 1
    chosen = [word for word, _ in sorted(counts.items(), key=lambda row: (-row[1], row[0])) if word in near][:keywords]
    if not chosen:
        raise InputError("no word of the dialogues has a neighbour in the knowledge files; give others (knowledge)")
    known = set(chosen)
    lines = []
    for word in chosen:
        # A neighbour of everything says little: its count is divided by how many neighbours it has.
        ranked = sorted(near[word], key=lambda other: (-near[word][other] / len(near[other]) ** 0.5, other))
        lines.append(" ".join([word, *[other for other in ranked if other in known][:neighbours]]))
    return ConceptGraph(tuple(lines))


def start_grade_network(concepts: ConceptGraph, encoder: Encoder, recipe: GradeRecipe) -> GradeHeadNetwork:
    """Return a network with random weights, and with the principal components of its keywords' vectors."""
    network = GradeHeadNetwork(concepts.listed, encoder.dimensions, recipe.utterance, recipe.hidden, recipe.topic)
    vectors = encode_texts(encoder, list(concepts.numbers))
    components = reduce_vectors(find_components(vectors, recipe.topic), vectors)
    with torch.no_grad():
        network.keywords[1:, : components.shape[1]] = torch.from_numpy(components).float()
    return network


class TrainingReplies(NamedTuple):
    """Contexts and replies with their vectors and keywords, and the replies that have each rare word."""

    concepts: ConceptGraph
    texts: list[str]  # of the replies
    nodes: tuple[Any, Any]  # keywords of contexts and of replies
    contexts: Vectors
    replies: Vectors
    sharing: list[list[int]]  # for each reply, others that share its rarest shared word

    @classmethod
    def of(cls, encoder: Encoder, concepts: ConceptGraph, next_turns: Sequence[NextTurn]) -> TrainingReplies:
        """Encode contexts and replies, and find their keywords."""
        by_word: dict[str, list[int]] = defaultdict(list)
        words = [sorted(set(split_runs(one.reply)), key=lambda word: (-word_rarity(word), word)) for one in next_turns]
        for i, of_reply in enumerate(words):
            for word in of_reply:
                by_word[word].append(i)
        shared = [next((by_word[word] for word in of_reply if len(by_word[word]) > 1), []) for of_reply in words]
        before = np.stack([concepts.context_nodes(one.context[-_TURNS:]) for one in next_turns])
        after = np.stack([concepts.reply_nodes(one.reply) for one in next_turns])
        texts = [one.reply for one in next_turns]
        return cls(concepts, texts, (before, after), *encode_next_turns(encoder, next_turns, _TURNS), shared)

    def negatives(self, random: np.random.Generator) -> tuple[Any, Any]:
        """Return a lexical and an embedding-based negative of each reply, as numbers of replies."""
        n, texts = len(self.texts), self.texts
        pool = random.integers(0, n, (n, _POOL))
        nearest = np.empty(n, np.int64)
        for i in range(n):
            others = [j for j in pool[i] if texts[j] != texts[i]] or [(i + 1) % n]
            nearest[i] = others[int(np.argmax(self.replies[others] @ self.replies[i]))]
        lexical = np.array([_choose_other(i, self.sharing[i], texts, random) for i in range(n)])
        return np.where(lexical < 0, pool[:, 0], lexical), nearest

    def inputs(self, chosen: Any, others: Any, device: torch.device) -> list[Tensor]:
        """Return what the network reads: contexts by number, with replies by number."""
        rows = join_features(self.contexts[chosen], self.replies[others])
        graphs = self.concepts.graphs(self.nodes[0][chosen], self.nodes[1][others])
        return [torch.from_numpy(part).to(device) for part in (rows, *graphs)]


def _choose_other(i: int, sharing: Sequence[int], texts: Sequence[str], random: np.random.Generator) -> int:
    """Return a reply with another text, -1 if some tries find none."""
    for _ in range(3 if sharing else 0):
        other = sharing[int(random.integers(len(sharing)))]
        if texts[other] != texts[i]:
            return other
    return -1


def fit_grade(
    network: GradeHeadNetwork,
    train: TrainingReplies,
    valid: TrainingReplies,
    recipe: GradeRecipe,
    log: Callable[[str], None],
) -> list[float]:
    """Train a network to its best epoch; return after each epoch the share of held-out replies above both negatives."""
    n, device = len(train.texts), network.keywords.device
    steps = -(-n // recipe.batch)
    schedule = LearningRateSchedule(build_optimizer([(list(network.parameters()), recipe.rate)]), recipe.epochs * steps)
    places = np.arange(len(valid.texts))
    held_out = [valid.inputs(places, others, device) for others in (places, *valid.negatives(np.random.default_rng(0)))]
    shares: list[float] = []
    best = network.state_dict()
    for epoch in range(recipe.epochs):
        random = np.random.default_rng([recipe.seed, epoch])
        negatives = train.negatives(random)
        order = random.permutation(n)
        for step in range(steps):
            at = order[step * recipe.batch : (step + 1) * recipe.batch]
            true, *false = (network(*train.inputs(at, others, device)) for others in (at, *(k[at] for k in negatives)))
            loss = torch.stack([torch.relu(recipe.margin - true + other) for other in false]).mean()
            schedule.step(loss, network)
        with torch.no_grad():
            true, *false = (network(*inputs) for inputs in held_out)
        shares.append(float(torch.stack([true > other for other in false]).all(0).float().mean()))
        log(f"epoch {epoch + 1} of {recipe.epochs}: {100 * shares[-1]:.1f}% of held-out replies above both negatives")
        if shares[-1] == max(shares):
            best = {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(best)
    return shares
