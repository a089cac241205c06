"""What a training step sees: every operation on texts against plain Python, and places that stay where they belong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tiny_training
from hypothesis import given, settings
from hypothesis import strategies as st
from rejoinder_lab.training.tokens import BETWEEN, _flatten_corpora, read_corpus_tokens

from rejoinder.errors import InputError
from rejoinder.types import Dialogue, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.training import sampling, token_rows  # noqa: E402
from rejoinder_lab.training.aptness import bi_encoder, cross_encoder  # noqa: E402
from rejoinder_lab.training.aptness.bi_encoder import BiRecipe, CandidateInfo  # noqa: E402
from rejoinder_lab.training.sampling import ResponsePlaces, TokenCorpus, TokenProperties  # noqa: E402
from rejoinder_lab.training.token_rows import TokenRows  # noqa: E402

from rejoinder.models.aptness.network import UTTERANCES  # noqa: E402

CPU = torch.device("cpu")
CONTINUED, SIGNS = {7, 8, 9}, {3, 4}  # of the made-up ids from 1 to 19, of which BETWEEN is one
VERBS, NO, NOT = {12, 13}, 14, 15
IDS = st.integers(1, 19)
Rows = list[list[int]]
ROWS = st.lists(st.lists(IDS, min_size=1, max_size=9), min_size=1, max_size=5)
DIALOGUES = st.lists(st.lists(st.lists(st.integers(2, 19), min_size=1, max_size=5), min_size=2, max_size=9), min_size=1)
CORPORA = st.dictionaries(st.sampled_from("abc"), DIALOGUES, min_size=1)
SEEDS = st.integers(0, 10**6)
few = settings(max_examples=40, deadline=None)


def texts(rows: Rows) -> TokenRows:
    width = max(1, *map(len, rows))
    filled = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    return TokenRows(filled, torch.tensor([len(row) for row in rows]))


def rows(found: Any) -> Rows:
    """The rows without their filling, which must be zeros."""
    ids, lengths = found.ids.tolist(), found.lengths.tolist()
    assert all(not any(row[n:]) for row, n in zip(ids, lengths, strict=True))
    return [row[:n] for row, n in zip(ids, lengths, strict=True)]


def generator(seed: int) -> Any:
    return torch.Generator().manual_seed(seed)


def words(generic: Rows | None = None) -> TokenProperties:
    places = range(200)
    return TokenProperties(
        torch.tensor([i in CONTINUED for i in places]),
        torch.tensor([i in SIGNS for i in places]),
        texts(generic or [[5], [5, 6]]),
        torch.tensor([i in VERBS for i in places]),
        NO,
        NOT,
    )


def corpus_of(by_corpus: dict[str, list[Rows]]) -> TokenCorpus:
    return TokenCorpus(_flatten_corpora(by_corpus), CPU)


def turns_of(by_corpus: dict[str, list[Rows]]) -> list[tuple[str, int, list[int]]]:
    """Corpus, number of the dialogue in it and ids of every turn, in the order of the flat arrays."""
    return [(name, i, turn) for name in sorted(by_corpus) for i, d in enumerate(by_corpus[name]) for turn in d]


# Texts


@few
@given(st.lists(IDS, min_size=1, max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1))
def test_gather_takes_slices(flat: list[int], slices: list[tuple[int, int]]) -> None:
    bounds = [(min(at, len(flat)), min(at + size, len(flat))) for at, size in slices]
    begin, end = (torch.tensor(part) for part in zip(*bounds, strict=True))
    found = token_rows.gather_slices(torch.tensor(flat, dtype=torch.int32), begin, end)
    assert rows(found) == [flat[a:b] for a, b in bounds]
    assert found.mask.sum(1).tolist() == [b - a for a, b in bounds]


@few
@given(ROWS, st.randoms(use_true_random=False))
def test_keep_leaves_the_wanted_ids_and_never_an_empty_text(given_rows: Rows, random: Any) -> None:
    wanted = [[random.random() < 0.4 for _ in range(9)] for _ in given_rows]
    found = token_rows.keep_row_tokens(texts(given_rows), torch.tensor(wanted)[:, : texts(given_rows).ids.shape[1]])
    kept = [
        [i for i, yes in zip(row, marks, strict=False) if yes] for row, marks in zip(given_rows, wanted, strict=True)
    ]
    assert rows(found) == [some or row for some, row in zip(kept, given_rows, strict=True)]


@few
@given(ROWS)
def test_backwards_turns_words_round_and_not_their_pieces(given_rows: Rows) -> None:
    def turned(row: list[int]) -> list[int]:
        split: Rows = []
        for i in row:
            if i in CONTINUED and split:
                split[-1].append(i)
            else:
                split.append([i])
        return [i for word in reversed(split) for i in word]

    assert rows(token_rows.reverse_row_words(texts(given_rows), words().continued)) == [
        turned(row) for row in given_rows
    ]


@few
@given(ROWS, st.integers(1, 4))
def test_repeated_says_it_several_times(given_rows: Rows, times: int) -> None:
    assert rows(token_rows.repeat_rows(texts(given_rows), times)) == [row * times for row in given_rows]


@few
@given(ROWS, st.integers(1, 10))
def test_cut_keeps_the_first_or_the_last(given_rows: Rows, most: int) -> None:
    assert rows(token_rows.truncate_token_rows(texts(given_rows), most, "right")) == [row[:most] for row in given_rows]
    assert rows(token_rows.truncate_token_rows(texts(given_rows), most, "left")) == [row[-most:] for row in given_rows]


@few
@given(ROWS, ROWS)
def test_stacked_puts_rows_below_each_other(upper: Rows, lower: Rows) -> None:
    assert rows(token_rows.stack_rows([texts(upper), texts(lower)])) == upper + lower


@few
@given(ROWS)
def test_framed_stands_between_the_marks(given_rows: Rows) -> None:
    assert rows(token_rows.add_special_tokens(texts(given_rows))) == [[101, *row, 102] for row in given_rows]


@few
@given(st.lists(st.tuples(*[st.lists(IDS, min_size=1, max_size=6)] * 2), min_size=1, max_size=5))
def test_joined_is_context_and_reply_in_one_row(pairs: list[tuple[list[int], list[int]]]) -> None:
    found = token_rows.join_pairs(texts([context for context, _ in pairs]), texts([reply for _, reply in pairs]))
    assert rows(found) == [[101, *context, 102, *reply, 102] for context, reply in pairs]
    kinds = [row[:n] for row, n in zip(found.kinds.tolist(), found.lengths.tolist(), strict=True)]
    assert kinds == [[0] * (len(context) + 2) + [1] * (len(reply) + 1) for context, reply in pairs]
    assert int(found.kinds.sum()) == sum(map(sum, kinds))


@few
@given(ROWS, st.sampled_from([0.0, 0.5, 1.0]), SEEDS)
def test_merged_takes_the_marks_out_of_a_share(given_rows: Rows, share: float, seed: int) -> None:
    chosen = (torch.rand(len(given_rows), generator=generator(seed)) < share).tolist()
    expected = [
        ([i for i in row if i != BETWEEN] or row) if yes else row for row, yes in zip(given_rows, chosen, strict=True)
    ]
    assert rows(sampling.merge_turns(texts(given_rows), share, generator(seed))) == expected


@few
@given(ROWS, SEEDS)
def test_roughened_drops_signs_and_drops_and_masks_a_few_ids(given_rows: Rows, seed: int) -> None:
    made, again = texts(given_rows), generator(seed)
    bare = (torch.rand(len(given_rows), 1, generator=again) < 0.2).flatten().tolist()
    gappy = (torch.rand(len(given_rows), 1, generator=again) < 0.33).flatten().tolist()
    chances = torch.rand(made.ids.shape, generator=again).tolist()
    expected = []
    for row, is_bare, is_gappy, chance in zip(given_rows, bare, gappy, chances, strict=True):
        masked = [103 if is_gappy and c > 0.94 and i != BETWEEN else i for i, c in zip(row, chance, strict=False)]
        kept = [
            new
            for i, new, c in zip(row, masked, chance, strict=False)
            if not (is_bare and i in SIGNS) and not (is_gappy and c < 0.06)
        ]
        expected.append(kept or masked)
    assert rows(sampling.roughen_texts(made, words(), generator(seed))) == expected


@few
@given(CORPORA, SEEDS)
def test_spoiled_replies_are_what_their_kinds_say(by_corpus: dict[str, list[Rows]], seed: int) -> None:
    corpus, turns = corpus_of(by_corpus), [turn for _, _, turn in turns_of(by_corpus)]
    which = torch.tensor([i % len(by_corpus) for i in range(10)])
    places = corpus.random_places(which, generator(seed))
    kinds = torch.tensor([i % 6 for i in range(10)])
    generic = [[5], [5, 6], [6, 6, 6]]
    found = rows(
        sampling.corrupt_reply_rows(corpus, places, corpus.texts(places.reply), words(generic), generator(seed), kinds)
    )

    again = generator(seed)
    shares = torch.rand(10, generator=again)
    sources = (places.reply - 1 - (shares**2 * (places.reply - places.start)).long()).tolist()
    width = max(len(turns[source]) for source in sources)
    chances = torch.rand(10, width, generator=again).tolist()
    drawn = torch.randint(0, len(corpus.ids), (10, width), generator=again)
    strange = corpus.ids[drawn].tolist()
    choice = torch.randint(0, len(generic), (10,), generator=again).tolist()
    for i, (reply, start) in enumerate(zip(places.reply.tolist(), places.start.tolist(), strict=True)):
        said, copied = turns[reply], turns[sources[i]]
        assert start <= sources[i] < reply
        changed = [new if c < 0.15 else old for old, new, c in zip(copied, strange[i], chances[i], strict=False)]
        near = [new for new, c in zip(changed, chances[i], strict=False) if c < 0.92] or changed
        backwards = rows(token_rows.reverse_row_words(texts([said]), words().continued))[0]
        own = turns[max(reply - 2, start)]
        contrary = rows(sampling.contradict_rows(texts([own]), words()))[0]
        assert found[i] == [backwards, said * 3, copied, near, generic[choice[i]], contrary][i % 6]


@few
@given(CORPORA, SEEDS)
def test_shuffled_words_stay_whole(by_corpus: dict[str, list[Rows]], seed: int) -> None:
    made = [turn for _, _, turn in turns_of(by_corpus)]
    found = rows(token_rows.shuffle_row_words(texts(made), words().continued, generator(seed)))

    def split(row: list[int]) -> list[list[int]]:
        parts: list[list[int]] = []
        for i in row:
            parts = [*parts[:-1], [*parts[-1], i]] if parts and i in CONTINUED else [*parts, [i]]
        return parts

    for before, after in zip(made, found, strict=True):
        if before[0] not in CONTINUED:
            assert sorted(split(before)) == sorted(split(after))
        assert sorted(before) == sorted(after)


def test_a_contradiction_turns_the_first_verb_round() -> None:
    verb = min(VERBS)
    found = rows(sampling.contradict_rows(texts([[5, verb, 6, verb], [verb, NOT, 6], [5, 6], [5, verb]]), words()))
    assert found == [[5, verb, NOT, 6, verb], [verb, 6], [NO, 5, 6], [5, verb, NOT]]


def test_shared_replies_are_never_false_ones() -> None:
    corpus = corpus_of({"ms_chitchat": [[[5], [6]]] * 9, "chitchat": [[[7], [8]]] * 3, "x": [[[9], [10]]]})
    bounds = corpus.turn_bounds.tolist()
    low, high = bounds[1], bounds[2]  # of ms_chitchat
    assert corpus.tokens.corpora[1] == "ms_chitchat"
    drawn = generator(0)
    turns = [*corpus.false_anywhere(200, drawn).tolist(), *corpus.false_turns(torch.ones(50).long(), drawn).tolist()]
    assert not any(low <= turn < high for turn in turns)
    assert any(turn >= high for turn in turns)


def test_a_long_reply_is_spoiled_within_its_limits() -> None:
    long = [[i % 18 + 2 for i in range(400)], [i % 17 + 2 for i in range(300)]]
    corpus, places = corpus_of({"a": [long]}), ResponsePlaces(torch.tensor([0] * 3), torch.tensor([1] * 3))
    true = corpus.texts(places.reply, sampling.REPLY_TOKENS)
    found = rows(sampling.corrupt_reply_rows(corpus, places, true, words(), generator(0), torch.tensor([0, 1, 2])))
    said = long[1][: sampling.REPLY_TOKENS]
    assert found[0] == rows(token_rows.reverse_row_words(texts([said]), words().continued))[0]
    assert found[1] == said
    assert found[2] == long[0][-sampling.REPLY_TOKENS :]


# Corpora


def test_a_corpus_is_one_array_with_a_mark_after_each_turn() -> None:
    corpus = corpus_of({"b": [[[5, 6], [7]]], "a": [[[8], [5, 6], [9]], [[8], [8]]]})
    tokens = corpus.tokens
    assert tokens.corpora == ("a", "b")
    assert tokens.ids.tolist() == [8, 1, 5, 6, 1, 9, 1, 8, 1, 8, 1, 5, 6, 1, 7, 1]
    assert [tokens.ids[a:b].tolist() for a, b in zip(tokens.begin, tokens.end, strict=True)] == [
        [8], [5, 6], [9], [8], [8], [5, 6], [7],
    ]  # fmt: skip
    assert tokens.dialogue.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert tokens.first.tolist() == [0, 3, 5, 7]
    assert tokens.corpus_first.tolist() == [0, 2, 3]
    assert tokens.same.tolist() == [0, 1, 2, 0, 0, 1, 3]
    assert corpus.turn_bounds.tolist() == [0, 5, 7]


def test_contexts_and_turns_are_cut_as_they_are_read_later() -> None:
    corpus = corpus_of({"a": [[[5, 6, 7], [8], [9, 10], [11]]]})
    places = ResponsePlaces(torch.tensor([0, 1, 2]), torch.tensor([3, 3, 3]))
    assert rows(corpus.contexts(places)) == [[5, 6, 7, 1, 8, 1, 9, 10], [8, 1, 9, 10], [9, 10]]
    assert rows(corpus.contexts(places, 4)) == [[8, 1, 9, 10], [8, 1, 9, 10], [9, 10]]
    assert rows(corpus.texts(torch.tensor([0, 1]), 2)) == [[5, 6], [8]]
    assert rows(corpus.texts(torch.tensor([0, 1]), 2, "left")) == [[6, 7], [8]]


@few
@given(CORPORA, SEEDS)
def test_random_places_and_turns_stay_in_their_dialogue_and_corpus(by_corpus: Any, seed: int) -> None:
    corpus, turns = corpus_of(by_corpus), turns_of(by_corpus)
    which = torch.arange(60) % len(by_corpus)
    names = [sorted(by_corpus)[i] for i in which.tolist()]
    drawn = generator(seed)
    assert [turns[turn][0] for turn in corpus.random_turns(which, drawn).tolist()] == names
    places = corpus.random_places(which, drawn)
    for name, start, reply in zip(names, places.start.tolist(), places.reply.tolist(), strict=True):
        assert 1 <= reply - start <= sampling.MAX_TURNS
        assert turns[start][:2] == turns[reply][:2]
        assert turns[reply][0] == name
    windows, inside = bi_encoder._sample_windows(corpus, which[:1], 40, drawn)
    for row, there in zip(windows.tolist(), inside.tolist(), strict=True):
        kept = [turn for turn, yes in zip(row, there, strict=True) if yes]
        assert kept == list(range(kept[0], kept[-1] + 1))
        assert {turns[turn][:2] for turn in kept} == {turns[kept[0]][:2]}
        assert turns[kept[0]][0] == names[0]
        assert len(kept) == min(UTTERANCES, len(by_corpus[names[0]][turns[kept[0]][1]]))
        assert there == sorted(there, reverse=True)


def test_every_turn_can_be_drawn_and_every_reply_too() -> None:
    by_corpus = {"a": [[[5]] * 3, [[6]] * 2], "b": [[[7]] * 4]}
    corpus = corpus_of(by_corpus)
    for which, low, high in ((0, 0, 5), (1, 5, 9)):
        asked = torch.full((400,), which)
        assert set(corpus.random_turns(asked, generator(0)).tolist()) == set(range(low, high))
        firsts = {0, 3, 5}
        assert set(corpus.random_places(asked, generator(0)).reply.tolist()) == set(range(low, high)) - firsts


def test_splits_never_meet() -> None:
    talks = tiny_training.talks()
    splits = read_corpus_tokens(talks, tiny_training.tokenizer())
    whole = read_corpus_tokens([d for d in talks if d.split == "train"], tiny_training.tokenizer())["train"]
    assert set(splits) == {"train", "valid", "test"}
    assert splits["train"].ids.tolist() == whole.ids.tolist()
    assert {split: tokens.turns for split, tokens in splits.items()} == {
        split: sum(len(d.turns) for d in talks if d.split == split) for split in splits
    }


def test_texts_are_read_as_the_metric_reads_them() -> None:
    said = ["the cat [SEP] sat", "ok [MASK]\ud800", " ", "no"]
    talk = Dialogue("1", tuple(map(Turn, said)))
    tokens = read_corpus_tokens([talk], tiny_training.tokenizer())["train"]
    assert tokens.corpora == ("",)
    assert tokens.turns == 3  # the blank one says nothing
    assert not set(tokens.ids.tolist()) & {101, 102, 103}


def test_what_cannot_be_trained_on_is_told() -> None:
    def refused(talks: list[Dialogue], *corpora: str) -> str:
        with pytest.raises(InputError) as error:
            read_corpus_tokens(talks, tiny_training.tokenizer(), corpora)
        return str(error.value)

    alone = Dialogue("1", (Turn("yes"),), "shop", "train")
    valid = Dialogue("2", (Turn("yes"), Turn("no")), "shop", "valid")
    assert refused([]).startswith("no dialogues to train on; give files of dialogues")
    assert "no dialogue of two turns or more has the split 'train' (found: none)" in refused([alone])
    assert "has the split 'train' (found: valid)" in refused([alone, valid])
    assert refused([alone], "shops") == "no dialogue belongs to the corpus 'shops'; did you mean 'shop'?"


def test_corpora_can_be_chosen() -> None:
    talks = tiny_training.talks(corpora=("shop", "street", "home"))
    found = read_corpus_tokens(talks, tiny_training.tokenizer(), ("home", "shop"))
    assert {tokens.corpora for tokens in found.values()} == {("home", "shop")}


def test_the_vocabulary_knows_signs_and_pieces() -> None:
    known = TokenProperties.of(tiny_training.tokenizer(), ["no", "the cat sat."], CPU)
    ids = read_corpus_tokens([Dialogue("1", (Turn("cat ."), Turn("xy")))], tiny_training.tokenizer())[
        "train"
    ].ids.tolist()
    cat, sign, _, x, y, _ = ids
    assert known.punctuation[[cat, sign, x, y, 1, 0]].tolist() == [False, True, False, False, False, False]
    assert known.continued[[cat, sign, x, y, 1, 0]].tolist() == [False, False, False, True, False, False]
    assert [len(row) for row in rows(known.generic)] == [1, 4]


# What a step makes of them


@few
@given(st.lists(st.integers(2, UTTERANCES), min_size=1, max_size=6), SEEDS)
def test_the_contexts_of_a_window_are_the_turns_before(sizes: list[int], seed: int) -> None:
    inside = torch.arange(UTTERANCES) < torch.tensor(sizes)[:, None]
    pieces, mask, own = bi_encoder._window_contexts(inside, generator(seed))
    begins = np.cumsum([0, *sizes]).tolist()
    expected = [(begin, begin + i) for begin, size in zip(begins, sizes, strict=False) for i in range(1, size)]
    assert own.tolist() == [place for _, place in expected]
    again = generator(seed)
    short = torch.rand(len(expected), generator=again) < 0.33
    most = torch.where(short, torch.randint(1, 3, (len(expected),), generator=again), UTTERANCES).tolist()
    for i, (begin, place) in enumerate(expected):
        seen = [p for p, yes in zip(pieces[i].tolist(), mask[i].tolist(), strict=True) if yes]
        assert seen == list(range(place - 1, begin - 1, -1))[: most[i]]
        assert seen


@few
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 3), st.integers(0, 2)), min_size=1, max_size=7), SEEDS)
def test_the_weights_of_candidates_are_read_off_what_is_known(known: list[tuple[int, int, int]], seed: int) -> None:
    recipe = BiRecipe(earlier=0.5, later=0.25)
    own = torch.randint(0, len(known), (4,), generator=generator(seed))
    found = CandidateInfo(*torch.tensor(known).T).log_weights(own, recipe).tolist()
    for row, mine in zip(found, own.tolist(), strict=True):
        turn, same, dialogue = known[mine]
        for i, (other_turn, other_same, other_dialogue) in enumerate(known):
            expected = 0.0
            if dialogue == other_dialogue:
                expected = math.log(0.5 if other_turn < turn else 0.25)
            if same == other_same and other_same >= 0:
                expected = -1e4
            assert row[i] == pytest.approx(0.0 if i == mine else expected)


def test_true_replies_weigh_nothing_and_equal_texts_are_out() -> None:
    known = CandidateInfo(
        torch.tensor([4, 3, 5, 4, 9, 3]), torch.tensor([7, 8, 9, 7, 7, -1]), torch.tensor([0, 0, 0, 0, 1, 0])
    )
    found = known.log_weights(torch.tensor([0]), BiRecipe())[0].tolist()
    assert found == pytest.approx([0, math.log(1.0), math.log(0.1), -1e4, -1e4, 0])


def test_a_step_of_the_cross_encoder_has_seven_replies_per_place() -> None:
    corpus = TokenCorpus(read_corpus_tokens(tiny_training.talks(), tiny_training.tokenizer())["train"], CPU)
    known = TokenProperties.of(tiny_training.tokenizer(), ["no"], CPU)
    recipe = cross_encoder.CrossRecipe(places=40)
    pairs, weight, places, replies_read = cross_encoder.draw_cross_encoder_step(
        corpus, torch.ones(2), known, recipe, generator(1)
    )
    assert weight.shape == (7, 40)
    assert len(pairs.ids) == len(replies_read.ids) == 280
    assert set(weight[0].tolist()) == {1.5}
    wanted = [*[recipe.same_corpus] * 3, recipe.any_corpus, recipe.same_dialogue, recipe.spoiled]
    for row, value in zip(weight[1:], wanted, strict=True):
        assert row.any()
        assert row[row > 0].tolist() == pytest.approx([value] * int((row > 0).sum()))
    assert (weight[5] == 0).any(), "a reply drawn from its own dialogue is now and then the true one"
    contexts = [row[1 : row.index(102)] for row in rows(pairs)]
    assert contexts[:40] * 7 == contexts
    true = rows(corpus.texts(places.reply, sampling.REPLY_TOKENS))
    replies = [row[row.index(102) + 1 : -1] for row in rows(pairs)]
    assert sum(a == b for a, b in zip(true, replies[:40], strict=True)) > 20  # the others were roughened
