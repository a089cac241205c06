"""The networks in training: the packed pass is the plain one, steps lower the loss, and a seed decides everything."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tiny_training
from rejoinder_lab.training.tokens import read_corpus_tokens

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.training import packing  # noqa: E402
from rejoinder_lab.training.aptness import bi_encoder, mpnet  # noqa: E402
from rejoinder_lab.training.aptness import evaluation as selection  # noqa: E402
from rejoinder_lab.training.aptness.bi_encoder import BiRecipe, BiTeacher, encode_turns, train_bi_encoder  # noqa: E402
from rejoinder_lab.training.aptness.cross_encoder import (  # noqa: E402
    CrossEncoderStep,
    CrossRecipe,
    draw_cross_encoder_step,
    gold_loss,
    train_cross_encoder,
)
from rejoinder_lab.training.aptness.distillation import AptnessTeacher, DistillationRecipe, distill_cross_encoders  # noqa: E402
from rejoinder_lab.training.aptness.evaluation import NEGATIVES, compute_raw_scores, sample_held_out, summarise_held_out  # noqa: E402
from rejoinder_lab.training.aptness.layers import keep_layers, lengthen_positions  # noqa: E402
from rejoinder_lab.training.aptness.recipe import AptnessRecipe  # noqa: E402
from rejoinder_lab.training.optimizer import LearningRateSchedule, WeightAverage, build_optimizer  # noqa: E402
from rejoinder_lab.training.sampling import (  # noqa: E402
    CONTEXT_TOKENS,
    CORRUPTIONS,
    REPLY_TOKENS,
    UTTERANCE_TOKENS,
    TokenCorpus,
    TokenProperties,
    corpus_weights,
    read_generic_responses,
)
from rejoinder_lab.training.token_rows import TokenRows, add_special_tokens, join_pairs  # noqa: E402

from rejoinder.models.aptness.network import UTTERANCES, BiEncoder, CrossEncoder  # noqa: E402

CPU = torch.device("cpu")
RECIPE = AptnessRecipe()
BI = BiRecipe(steps=30, windows=12, merged=8, spoiled=6, rate=3e-3, head_rate=3e-3)
CROSS = CrossRecipe(steps=30, places=16, rate=3e-3, head_rate=3e-3)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Any:
    """Sums are added in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def corpus() -> TokenCorpus:
    return TokenCorpus(read_corpus_tokens(tiny_training.talks(), tiny_training.tokenizer())["train"], CPU)


@pytest.fixture(scope="module")
def words() -> TokenProperties:
    return TokenProperties.of(tiny_training.tokenizer(), read_generic_responses(), CPU)


def bi_network(seed: int = 0) -> BiEncoder:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return BiEncoder(tiny_training.trunk(seed, layers=2)).eval()


def cross_network(seed: int = 0) -> CrossEncoder:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return CrossEncoder(tiny_training.trunk(seed, layers=2)).eval()


def generator(seed: int = 0) -> Any:
    return torch.Generator().manual_seed(seed)


def drawn(rows: int, width: int, seed: int) -> TokenRows:
    lengths = torch.randint(1, width + 1, (rows,), generator=generator(seed))
    lengths[0] = width
    ids = torch.randint(104, 150, (rows, width), generator=generator(seed + 1))
    return TokenRows(ids * (torch.arange(width) < lengths[:, None]), lengths)


def equal(first: Any, second: Any) -> bool:
    mine, theirs = first.state_dict(), second.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


# The packed pass


@torch.no_grad()
def test_utterances_packed_are_utterances_in_rows() -> None:
    network, texts = bi_network(), drawn(9, 14, 3)
    rows = add_special_tokens(texts)
    expected = network(rows.ids, rows.mask.long())
    assert torch.allclose(packing.packed_turn_vectors(network, texts), expected, atol=1e-5)
    assert (expected - expected[0]).abs().max() > 0.1


@torch.no_grad()
def test_pairs_packed_are_pairs_in_rows() -> None:
    network = cross_network()
    pairs = join_pairs(drawn(9, 14, 3), drawn(9, 6, 7))
    expected = network(pairs.ids, pairs.mask.long(), pairs.kinds)
    assert torch.allclose(packing.packed_pair_log_odds(network, pairs), expected, atol=1e-5)
    assert expected.std() > 0.01


def test_gradients_packed_are_gradients_in_rows() -> None:
    network, texts = bi_network(), drawn(5, 8, 3)
    rows = add_special_tokens(texts)
    target = torch.randn(5, 16, generator=generator())
    found = torch.autograd.grad(
        (packing.packed_turn_vectors(network, texts) * target).sum(), network.trunk.parameters()
    )
    expected = torch.autograd.grad((network(rows.ids, rows.mask.long()) * target).sum(), network.trunk.parameters())
    for mine, theirs in zip(found, expected, strict=True):
        assert torch.allclose(mine, theirs, atol=1e-5)


def test_dropout_is_for_training_only() -> None:
    network, texts = bi_network(), drawn(4, 8, 3)
    still = packing.packed_turn_vectors(network, texts)
    assert torch.equal(still, packing.packed_turn_vectors(network, texts))
    network.train()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert not torch.allclose(still, packing.packed_turn_vectors(network, texts), atol=1e-3)


@torch.no_grad()
def test_the_vectors_of_the_base_are_those_of_its_turns(corpus: TokenCorpus) -> None:
    network = bi_network()
    found = encode_turns(network, corpus).float()
    for turn in (0, 1, corpus.tokens.turns - 1):
        ids = corpus.ids[corpus.begin[turn] : corpus.end[turn]][:UTTERANCE_TOKENS].long()
        row = torch.cat([torch.tensor([101]), ids, torch.tensor([102])])[None]
        assert torch.allclose(found[turn], network(row, torch.ones_like(row))[0], atol=2e-3)  # kept in half precision


# MPNet


def mpnet_trunk() -> Any:
    from transformers import MPNetConfig, MPNetModel

    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = MPNetConfig(vocab_size=30_527, max_position_embeddings=514, initializer_range=0.4, **shape)
        return MPNetModel(config, add_pooling_layer=False).eval()


@torch.no_grad()
def test_a_renumbered_mpnet_reads_berts_ids_as_it_read_its_own() -> None:
    ids = torch.tensor([[101, 104, 2_000, 30_521, 100, 103, 1, 102, 0, 0], [101, 999, 102, *[0] * 7]])
    own = torch.tensor([[0, 108, 2_004, 30_525, 104, 30_526, 5, 2, 1, 1], [0, 1_003, 2, *[1] * 7]])
    mask = (ids != 0).long()
    expected = mpnet_trunk()(input_ids=own, attention_mask=mask).last_hidden_state
    trunk = mpnet.renumber_trunk(mpnet_trunk())
    found = trunk(input_ids=ids, attention_mask=mask).last_hidden_state
    assert torch.allclose(found[mask.bool()], expected[mask.bool()], atol=1e-6)
    assert trunk.config.vocab_size == 30_522


@torch.no_grad()
def test_mpnet_in_groups_is_mpnet_in_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpnet, "_GROUP_TOKENS", 300)  # several groups
    trunk = mpnet.renumber_trunk(mpnet_trunk())
    texts = drawn(7, 150, 2)  # farther apart than distances are told apart
    rows = add_special_tokens(texts)
    states = trunk(input_ids=rows.ids, attention_mask=rows.mask.long()).last_hidden_state
    mean = (states * rows.mask[..., None]).sum(1) / rows.lengths[:, None]
    assert torch.allclose(mpnet.mpnet_mean_vectors(trunk, texts), mean, atol=1e-5)
    pairs = join_pairs(texts, drawn(7, 20, 3))
    states = trunk(input_ids=pairs.ids, attention_mask=pairs.mask.long()).last_hidden_state
    first, context, reply = mpnet.mpnet_pair_vectors(trunk, pairs)
    of_reply = pairs.kinds[..., None]
    assert torch.allclose(first, states[:, 0], atol=1e-5)
    assert torch.allclose(reply, (states * of_reply).sum(1) / of_reply.sum(1), atol=1e-5)
    of_context = pairs.mask[..., None] * (1 - of_reply)
    assert torch.allclose(context, (states * of_context).sum(1) / of_context.sum(1), atol=1e-5)


@torch.no_grad()
def test_a_trunk_that_reads_more_reads_short_texts_as_before() -> None:
    for trunk in (tiny_training.trunk(layers=2), mpnet_trunk(), mpnet.renumber_trunk(mpnet_trunk())):
        row = torch.arange(104, 114)[None]
        before = trunk(input_ids=row).last_hidden_state
        lengthen_positions(trunk, 600)
        assert torch.equal(trunk(input_ids=row).last_hidden_state, before)
        assert trunk(input_ids=torch.full((1, 600), 104)).last_hidden_state.shape[1] == 600


def test_a_shallow_trunk_has_the_layers_that_were_asked_for() -> None:
    trunk = tiny_training.trunk(layers=4)
    found = keep_layers(trunk, (0, 3))
    assert found.config.num_hidden_layers == len(found.encoder.layer) == 2
    assert trunk.config.num_hidden_layers == 4
    assert torch.equal(found.encoder.layer[1].output.dense.weight, trunk.encoder.layer[3].output.dense.weight)


# Held-out places


@torch.no_grad()
def test_raw_scores_are_the_networks_scores_of_each_place(
    corpus: TokenCorpus, words: TokenProperties, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "_PASS", 3)  # several passes, sorted by length
    bi, cross = bi_network(), cross_network()
    places, replies = sample_held_out(corpus, words, 4, seed=5)
    raw = compute_raw_scores(bi, cross, corpus, words, 4, seed=5)
    assert raw.corpus.tolist() == [0] * 4 + [1] * 4
    assert raw.bi.shape == raw.cross.shape == (8, 1 + NEGATIVES + len(CORRUPTIONS) + 1)
    contexts = corpus.contexts(places, CONTEXT_TOKENS)

    def ids(texts: TokenRows, row: int) -> Any:
        return texts.ids[row, : texts.lengths[row]]

    def vector(tokens: Any) -> Any:
        row = torch.cat([torch.tensor([101]), tokens, torch.tensor([102])])[None]
        return bi(row, torch.ones_like(row))

    for row in range(8):
        before = range(int(places.reply[row]) - 1, int(places.start[row]) - 1, -1)
        spoken = torch.zeros(1, UTTERANCES, 16)
        for i, turn in enumerate(before):
            spoken[0, i] = vector(ids(corpus.texts(torch.tensor([turn])), 0))
        context = bi.context(spoken, (torch.arange(UTTERANCES) < len(before))[None].long())
        for column, texts in enumerate(replies):
            reply = ids(texts, row)
            assert raw.bi[row, column] == pytest.approx(float((context * bi.reply(vector(reply))).sum()), abs=1e-5)
            first, last = torch.tensor([101]), torch.tensor([102])
            pair = torch.cat([first, ids(contexts, row), last, reply, last])[None]
            kinds = (torch.arange(pair.shape[1]) >= contexts.lengths[row] + 2).long()[None]
            assert raw.cross[row, column] == pytest.approx(float(cross(pair, torch.ones_like(pair), kinds)), abs=1e-5)


def test_held_out_replies_are_of_other_dialogues_and_differ(corpus: TokenCorpus, words: TokenProperties) -> None:
    places, replies = sample_held_out(corpus, words, 10)
    assert len(replies) == 1 + NEGATIVES + len(CORRUPTIONS) + 1
    true = replies[0]
    for other in replies[1 : 1 + NEGATIVES]:
        for row in range(20):
            assert other.ids[row, : other.lengths[row]].tolist() != true.ids[row, : true.lengths[row]].tolist()
    again = sample_held_out(corpus, words, 10)[1]
    assert all(torch.equal(a.ids, b.ids) for a, b in zip(replies, again, strict=True))
    after = corpus.texts(places.reply, REPLY_TOKENS)
    assert torch.equal(true.ids, after.ids)


def test_a_missing_network_has_no_scores(corpus: TokenCorpus, words: TokenProperties) -> None:
    raw = compute_raw_scores(None, None, corpus, words, 2)
    assert np.isnan(raw.bi).all()
    assert np.isnan(raw.cross).all()


def test_a_summary_counts_wins_corpus_by_corpus() -> None:
    scores = np.zeros((3, 1 + NEGATIVES + len(CORRUPTIONS) + 1))
    scores[:, 0] = [1.0, 0.0, 0.0]  # wins all; ties with all; ties but for one that it loses to
    scores[2, 1] = 2.0
    scores[0, 1 + NEGATIVES] = 3.0
    found = summarise_held_out(scores, np.array([0, 1, 1]), ("a", "b"))
    lost = (0.5 * NEGATIVES - 0.5) / NEGATIVES
    assert found.by_corpus == pytest.approx({"a": 1.0, "b": round((0.5 + lost) / 2, 4)})
    assert found.pairs == pytest.approx((1 + (0.5 + lost) / 2) / 2)
    assert found.top == 0.5
    assert found.corrupted["reversed"] == 0.25
    assert found.corrupted["other_speaker"] == 0.75


# Steps


def bi_trained(
    corpus: TokenCorpus, words: TokenProperties, seed: int = 0, steps: int = 30
) -> tuple[BiEncoder, list[Any]]:
    network, told = bi_network(), []
    base = encode_turns(network, corpus)
    weights = corpus_weights(corpus, RECIPE.power, RECIPE.preferences)
    recipe = BiRecipe(**{**vars(BI), "steps": steps})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        train_bi_encoder(
            network, corpus, weights, words, recipe, generator(seed), base, lambda *said: told.append(said)
        )
    return network, told


def cross_trained(bi: BiEncoder, corpus: TokenCorpus, words: TokenProperties, seed: int = 0) -> CrossEncoder:
    weights = corpus_weights(corpus, RECIPE.power, RECIPE.preferences)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = CrossEncoder(copy.deepcopy(bi.trunk))
        train_cross_encoder(network, corpus, weights, words, CROSS, generator(seed), lambda *_: None)
    return network


@torch.no_grad()
def bi_loss(network: BiEncoder, corpus: TokenCorpus, words: TokenProperties) -> float:
    """On the same draws for every network, without dropout and without the base's similarities."""
    scale = torch.tensor(math.log(BI.scale))
    which, draws = torch.tensor([1]), generator(99)
    losses = [
        bi_encoder._bi_encoder_loss(network.eval(), corpus, which, words, BI, draws, None, scale) for _ in range(5)
    ]
    return float(sum(losses)) / 5


@torch.no_grad()
def cross_loss(network: CrossEncoder, corpus: TokenCorpus, words: TokenProperties) -> float:
    step = draw_cross_encoder_step(corpus, torch.ones(2), words, replace(CROSS, places=100), generator(99))
    return float(step_loss(network.eval(), step))


def step_loss(network: CrossEncoder, step: CrossEncoderStep) -> Any:
    return gold_loss(packing.packed_pair_log_odds(network, step.pairs).view_as(step.weight), step.weight, CROSS)


def test_a_few_steps_lower_the_loss_of_the_bi_encoder(corpus: TokenCorpus, words: TokenProperties) -> None:
    trained, told = bi_trained(corpus, words)
    assert bi_loss(trained, corpus, words) < 0.97 * bi_loss(bi_network(), corpus, words)
    assert [step for step, _ in told] == [30]
    assert not trained.training


def test_a_few_steps_lower_the_loss_of_the_cross_encoder(corpus: TokenCorpus, words: TokenProperties) -> None:
    start = bi_network()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        untrained = CrossEncoder(copy.deepcopy(start.trunk))
    trained = cross_trained(start, corpus, words)
    assert cross_loss(trained, corpus, words) < 0.98 * cross_loss(untrained, corpus, words)
    assert not trained.training


def test_the_cross_encoder_can_learn_a_step_by_heart(corpus: TokenCorpus, words: TokenProperties) -> None:
    network = cross_network()
    step = draw_cross_encoder_step(corpus, torch.ones(2), words, replace(CROSS, places=4), generator(1))
    optimizer = build_optimizer([(list(network.parameters()), 1e-2)])
    losses = []
    for _ in range(40):
        loss = step_loss(network, step)
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[-1] < 0.4 * losses[0]


def test_the_word_embeddings_of_the_cross_encoder_stay_those_of_the_bi_encoder(
    corpus: TokenCorpus, words: TokenProperties
) -> None:
    start = bi_network()
    before = start.trunk.embeddings.word_embeddings.weight.detach().clone()
    trained = cross_trained(start, corpus, words)
    assert torch.equal(trained.trunk.embeddings.word_embeddings.weight, before)
    assert torch.equal(start.trunk.embeddings.word_embeddings.weight, before)
    moved = trained.trunk.embeddings.position_embeddings.weight - start.trunk.embeddings.position_embeddings.weight
    assert moved.abs().max() > 1e-4


def test_the_same_seed_gives_the_same_networks(corpus: TokenCorpus, words: TokenProperties) -> None:
    first, second, other = (bi_trained(corpus, words, seed, steps=4)[0] for seed in (0, 0, 1))
    assert equal(first, second)
    assert not equal(first, other)
    crosses = [cross_trained(first, corpus, words, seed) for seed in (0, 0, 1)]
    assert equal(crosses[0], crosses[1])
    assert not equal(crosses[0], crosses[2])


def test_the_similarities_of_the_base_are_kept(corpus: TokenCorpus, words: TokenProperties) -> None:
    network, scale = bi_network(), torch.tensor(math.log(BI.scale))
    base = encode_turns(network, corpus)
    recipe = BiRecipe(**{**vars(BI), "similarity": 10.0})

    def loss(kept: Any, weight: float) -> float:
        changed = BiRecipe(**{**vars(recipe), "similarity": weight})
        with torch.no_grad():
            return float(
                bi_encoder._bi_encoder_loss(
                    network, corpus, torch.tensor([0]), words, changed, generator(), kept, scale
                )
            )

    plain = loss(None, 10.0)
    assert loss(base, 0.0) == plain
    near, far = loss(base, 10.0), loss(base.roll(7, 0), 10.0)
    assert plain < near < far  # roughened texts are near to themselves, and not to others


def test_a_corpus_is_drawn_from_as_often_as_its_size_and_preference_say(corpus: TokenCorpus) -> None:
    sizes = np.diff(corpus.turn_bounds.numpy())
    found = corpus_weights(corpus, 0.5, {"street": 3.0})
    assert found.tolist() == pytest.approx([sizes[0] ** 0.5, 3 * sizes[1] ** 0.5])


# Teachers


@pytest.fixture(scope="module")
def teacher(corpus: TokenCorpus, words: TokenProperties) -> BiTeacher:
    network, _ = bi_trained(corpus, words, steps=20)
    return BiTeacher(network, encode_turns(network, corpus), 20.0, share=1.0)


def test_a_student_bi_encoder_comes_near_its_teacher(
    corpus: TokenCorpus, words: TokenProperties, teacher: BiTeacher
) -> None:
    recipe = replace(BI, similarity=0.0)
    scale = torch.tensor(math.log(20.0))

    @torch.no_grad()
    def distance(network: BiEncoder) -> float:
        which = torch.tensor([1])
        return float(
            bi_encoder._bi_encoder_loss(
                network.eval(), corpus, which, words, recipe, generator(9), None, scale, [teacher]
            )
        )

    student = bi_network(1)
    before = distance(student)
    weights = torch.ones(2)
    train_bi_encoder(student, corpus, weights, words, recipe, generator(), None, lambda *_: None, [teacher])
    assert distance(teacher.network) < distance(student) < 0.9 * before


def test_students_learn_what_the_teachers_say(corpus: TokenCorpus, words: TokenProperties, teacher: BiTeacher) -> None:
    cross = cross_trained(teacher.network, corpus, words)
    taught = AptnessTeacher(teacher, cross, {"bi": 2.0, "cross": 1.0, "bias": 0.5})
    step = draw_cross_encoder_step(corpus, torch.ones(2), words, replace(CROSS, places=50), generator(7))
    theirs = taught.log_odds(step)
    own = packing.packed_pair_log_odds(cross, step.pairs).view_as(theirs)
    assert ((theirs - own - 0.5).abs() <= 2.0 + 1e-4).all()  # what the bi-encoder adds is at most its weight

    def distance(network: CrossEncoder) -> float:
        with torch.no_grad():
            mine = packing.packed_pair_log_odds(network.eval(), step.pairs).view_as(theirs)
            return float((mine - theirs).square().mean())

    start = bi_network(1).trunk
    students = [CrossEncoder(copy.deepcopy(start)), CrossEncoder(keep_layers(start, (1,)))]
    before = [distance(student) for student in students]
    told: list[Any] = []
    recipe = DistillationRecipe(cross=replace(CROSS, steps=40), gold=0.0, odds=1.0, pool=0)
    distill_cross_encoders(
        students, [taught, taught], corpus, torch.ones(2), words, recipe, generator(), lambda *said: told.append(said)
    )
    assert all(distance(student) < 0.8 * old for student, old in zip(students, before, strict=True))
    assert [(step, len(losses)) for step, losses in told] == [(40, 2)]
    assert torch.equal(students[0].trunk.embeddings.word_embeddings.weight, start.embeddings.word_embeddings.weight)


def test_a_mined_reply_fits_best_of_the_pool_and_is_not_the_true_one(
    corpus: TokenCorpus, words: TokenProperties, teacher: BiTeacher
) -> None:
    which = torch.tensor([0, 1] * 40)
    places = corpus.random_places(which, generator(3))
    mined = teacher.nearest(corpus, places, which, 24, generator(5))
    random_turns = teacher.nearest(corpus, places, which, 1, generator(5))
    contexts = teacher.contexts(places)

    def fit(turns: Any) -> Any:
        return (teacher.network.reply(teacher.vectors[turns].float()) * contexts).sum(-1)

    usable = corpus.same[random_turns] != corpus.same[places.reply]
    usable &= corpus.dialogue[random_turns] != corpus.dialogue[places.reply]
    assert (fit(mined) >= fit(random_turns) - 1e-6)[usable].all()
    assert (fit(mined) > fit(random_turns)).float().mean() > 0.8
    assert (corpus.same[mined] != corpus.same[places.reply]).all()
    assert (corpus.dialogue[mined] != corpus.dialogue[places.reply]).all()
    bounds = corpus.turn_bounds
    assert ((mined >= bounds[which]) & (mined < bounds[which + 1])).all()


def test_a_step_takes_the_mined_reply_as_its_first_false_one(corpus: TokenCorpus, words: TokenProperties) -> None:
    step = draw_cross_encoder_step(
        corpus, torch.ones(2), words, CROSS, generator(7), lambda places, which: places.reply
    )
    assert (step.weight[1] == 0).all()  # equal to the true reply, so that it does not count
    assert (step.weight[2] > 0).any()


# The optimiser


def test_the_rate_warms_up_and_goes_down_a_half_cosine() -> None:
    parameter = torch.nn.Linear(1, 1)
    for steps, expected in ((4, [1, 1, 0.75, 0.25]), (40, [0.5, 1, 1, 0.5 * (1 + math.cos(math.pi / 38))])):
        optimizer = torch.optim.SGD(parameter.parameters(), lr=0.2)
        schedule = LearningRateSchedule(optimizer, steps)
        rates = []
        for _ in range(4):
            schedule.step(parameter(torch.ones(1, 1)).sum(), parameter)
            rates.append(optimizer.param_groups[0]["lr"] / 0.2)
        assert rates == pytest.approx(expected)


def test_a_gradient_is_no_longer_than_one_and_is_used_once() -> None:
    network = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(network.weight)
    schedule = LearningRateSchedule(torch.optim.SGD(network.parameters(), lr=1.0), 20)
    schedule.step(network(torch.tensor([[30.0, 40.0]])).sum(), network)
    assert network.weight.tolist() == [pytest.approx([-0.6, -0.8], abs=1e-5)]
    assert network.weight.grad is None
    network.weight.grad = torch.tensor([[0.3, 0.0]])
    schedule.step(None, network)
    assert network.weight.tolist() == [pytest.approx([-0.9, -0.8], abs=1e-5)]


def test_groups_have_their_rates_and_frozen_parameters_are_left_out() -> None:
    first, second = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
    first.bias.requires_grad_(False)
    optimizer = build_optimizer([(list(first.parameters()), 0.1), (list(second.parameters()), 0.2)])
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.2]
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 2]


def test_the_average_follows_slowly_at_first_and_then_as_its_decay_says() -> None:
    network = torch.nn.Linear(1, 1, bias=False)
    average = WeightAverage(network, decay=0.3)
    kept = float(network.weight.detach())
    for step, value in enumerate((1.0, 2.0, 5.0, -1.0), start=1):
        torch.nn.init.constant_(network.weight, value)
        average.update(network)
        decay = min(0.3, (1 + step) / (10 + step))
        kept = decay * kept + (1 - decay) * value
    assert float(network.weight.detach()) == -1.0
    average.copy_to(network)
    assert float(network.weight.detach()) == pytest.approx(kept)
    assert network.weight.requires_grad
