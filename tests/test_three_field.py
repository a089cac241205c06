"""Three-field retrieval: its scores are the formula's, it finds what comparing all finds, and it never leaks."""

from __future__ import annotations

import math
import random
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.errors import InputError, SpecError
from rejoinder.indexes.three_field.bm25 import Once, Settings, ThreeFieldIndex
from rejoinder.indexes.three_field.cache import open_three_field
from rejoinder.indexes.three_field.dense import DenseThreeFieldIndex
from rejoinder.indexes.three_field.hybrid import HybridThreeFieldIndex
from rejoinder.indexes.three_field.search import FieldSearch
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.types import Dialogue, Item, Reference, Turn

WORDS = "the cat sat on a mat while it rained and nobody minded but some of us went out to look at clouds".split()
EPSILON = 0.01


def made_up(n: int, seed: int = 0, longest: int = 7) -> list[Dialogue]:
    draw = random.Random(seed)

    def turn() -> Turn:
        return Turn(" ".join(draw.choices(WORDS, k=draw.randint(1, 9))))

    return [Dialogue(f"d{i}", tuple(turn() for _ in range(draw.randint(1, longest)))) for i in range(n)]


def item_at(dialogue: Dialogue, turn: int, name: str | None = "elsewhere") -> Item:
    turns = dialogue.turns
    return Item("i", turns[:turn], (Reference(turns[turn].text),), turns[turn + 1 :], dialogue=name)


def fields(turns: Sequence[Turn], place: int) -> tuple[str, str, str]:
    """The texts of past (two turns), response and future (two turns)."""
    texts = [turn.text for turn in turns]
    return " ".join(texts[max(0, place - 2) : place]), texts[place], " ".join(texts[place + 1 : place + 3])


def direct(dialogues: list[Dialogue], item: Item, epsilon: float = EPSILON) -> list[float]:
    """Appendix C word for word, in plain Python: the similarity of every turn."""
    documents = [fields(d.turns, t) for d in dialogues for t in range(len(d.turns))]
    whole = [*item.context, Turn(item.references[0].text if item.references else ""), *item.future]
    query = fields(whole, len(item.context))
    totals = [0.0] * len(documents)
    for field in range(3):
        asked = query[field].split()
        if not asked:
            continue
        bags = [Counter(d[field].split()) for d in documents]
        mean = sum(sum(bag.values()) for bag in bags) / len(bags)
        for place, bag in enumerate(bags):
            score = 0.0
            for word in asked:
                df = sum(word in b for b in bags)
                tf = bag[word]
                if tf:
                    damped = 0.5 * ((1 - 0.7) + 0.7 * sum(bag.values()) / mean)
                    score += math.log(len(bags) / df) * (0.5 + 1) * tf / (damped + tf)
            totals[place] += math.log(max(score, epsilon))
    return totals


def test_the_score_is_the_formula_of_appendix_c_on_200_random_pairs(tmp_path: Path) -> None:
    dialogues = made_up(30)
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index", epsilon=EPSILON)
    draw = random.Random(1)
    for asked in made_up(20, seed=2):
        item = item_at(asked, draw.randrange(len(asked.turns)))
        ours, expected = index.scores(item), direct(dialogues, item)
        for place in draw.sample(range(len(index)), 10):
            assert ours[place] == pytest.approx(expected[place], rel=1e-5)


@pytest.mark.parametrize("k", [1, 3, 50, 10_000])
def test_a_search_finds_what_a_comparison_with_every_turn_finds(k: int, tmp_path: Path) -> None:
    dialogues = made_up(400, seed=3)
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index", epsilon=EPSILON)
    names = [(d.id, t) for d in dialogues for t in range(len(d.turns))]
    for asked in made_up(6, seed=4):
        item = replace(item_at(asked, len(asked.turns) // 2), references=(Reference("the cat minded the clouds"),))
        hits = index.search([item], k)[0]
        scores = index.scores(item)
        order = sorted(range(len(names)), key=lambda n: (-scores[n], names[n]))
        worst = sum(bool(part) for part in (item.context, item.references, item.future)) * math.log(EPSILON)
        expected = [names[n] for n in order if scores[n] > worst + 1e-9][:k]
        assert [(hit.dialogue, hit.turn) for hit in hits] == expected
        assert [hit.score for hit in hits] == [scores[names.index(name)] for name in expected]


def test_a_hit_shows_the_turns_around_it_and_what_each_field_adds(tmp_path: Path) -> None:
    dialogue = Dialogue("d", tuple(map(Turn, ["one", "two", "three", "four", "five", "six"])), split="train")
    index = ThreeFieldIndex.build([dialogue, *made_up(5)], tmp_path / "index")
    item = Item("i", (Turn("three"),), (Reference("four"),), (Turn("five"),))
    assert index.search([item], 1) == [[]]  # the one dialogue with these words holds the item: a copy
    hit = index.search([replace(item, references=())], 1)[0][0]
    assert (hit.id, hit.past, hit.text, hit.future) == ("d/3", ("two", "three"), "four", ("five", "six"))
    assert hit.logs[1] is None
    assert hit.score == pytest.approx(sum(log for log in hit.logs if log is not None))


def test_a_field_that_the_item_lacks_drops_out_for_all_turns(tmp_path: Path) -> None:
    dialogues = made_up(30)
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index", epsilon=EPSILON)
    whole = item_at(made_up(1, seed=9)[0], 1)
    for part in ("context", "references", "future"):
        item = replace(whole, **{part: ()})
        assert index.scores(item) == pytest.approx(direct(dialogues, item), rel=1e-5)


def test_an_item_of_which_nothing_is_known_finds_nothing(tmp_path: Path) -> None:
    index = ThreeFieldIndex.build(made_up(5), tmp_path / "index")
    assert index.search([Item("i", ())], 3) == [[]]
    assert index.search([Item("i", (Turn("xyzzy plugh"),))], 3) == [[]]


def test_an_empty_reference_is_a_missing_one(tmp_path: Path) -> None:
    index = ThreeFieldIndex.build(made_up(30), tmp_path / "index")
    item = item_at(made_up(1, seed=9)[0], 1)
    empty, none = replace(item, references=(Reference("  "),)), replace(item, references=())
    assert index.search([empty], 5) == index.search([none], 5)


def test_a_corpus_without_futures_and_with_one_turn_dialogues_is_searched_by_what_it_has(tmp_path: Path) -> None:
    dialogues = [Dialogue(f"d{i}", (Turn(text),)) for i, text in enumerate(["the cat sat", "a dog ran", "a cat ran"])]
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index", epsilon=EPSILON)
    item = Item("i", (Turn("what ran"),), (Reference("the cat"),), (Turn("oh a cat"),))
    best = index.search([item], 1)[0][0]
    assert best.id == "d0/0"
    assert best.logs[0] == best.logs[2] == math.log(EPSILON)


def test_other_scripts_are_searched_like_any_text(tmp_path: Path) -> None:
    dialogues = [
        Dialogue("zh", (Turn("你吃了吗"), Turn("吃了，谢谢"))),
        Dialogue("ru", (Turn("Как дела?"), Turn("Хорошо"))),
    ]
    index = ThreeFieldIndex.build([*dialogues, *made_up(3)], tmp_path / "index")
    hits = index.search([Item("i", (Turn("как у тебя дела"),)), Item("j", (Turn("吃饭了"),))], 1)
    assert [of_item[0].id for of_item in hits] == ["ru/1", "zh/1"]


TALK = ("Do you know where the station is?", "It is just around the corner, on the left.", "Thank you so much!")


@pytest.mark.parametrize(
    "copy",
    [
        TALK,
        tuple(text.lower().replace("?", " ?").replace(".", " .") for text in TALK),
        ("Excuse me.", *TALK, "Bye."),
        TALK[:2],
        ("Do you know where the station is, please?", "It's just around the corner, on the left.", "Thanks!"),
    ],
)
def test_neither_the_own_dialogue_nor_a_copy_is_found(copy: tuple[str, ...], tmp_path: Path) -> None:
    talk = Dialogue("own", tuple(map(Turn, TALK)))
    others = [
        Dialogue("other", (Turn("Do you know where the cinema is?"), Turn("It is on the left."), Turn("Thank you."))),
        Dialogue("copy", tuple(map(Turn, copy))),
    ]
    index = ThreeFieldIndex.build([talk, *others, *made_up(10)], tmp_path / "index")
    for name in ("own", "item-of-a-test-set", None):
        found = index.search([item_at(talk, 1, name)], 100)[0]
        assert {"own", "copy"}.isdisjoint(hit.dialogue for hit in found)
        assert found[0].id == "other/1"


def test_a_short_exchange_that_many_have_bars_only_those_with_the_same_reply(tmp_path: Path) -> None:
    greet = [Turn("Hi."), Turn("Hello.")]
    long = Turn("I would like to know more about the trip to the coast.")
    dialogues = [Dialogue("a", (*greet, long)), Dialogue("b", (*greet, Turn("See you."))), *made_up(3)]
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index")
    item = Item("i", (*greet, Turn("How was the trip to the coast?")), (Reference("I would like to know more."),))
    assert index.search([item], 1)[0][0].id == "a/2"
    assert index.search([Item("i", greet[:1], (Reference("hello"),))], 1)[0] == []


def test_filters_and_exclusions_are_those_of_other_indexes(tmp_path: Path) -> None:
    dialogues = [replace(d, split="train" if i % 2 else "test") for i, d in enumerate(made_up(20))]
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index")
    item = item_at(made_up(1, seed=9)[0], 1)
    assert {hit.split for hit in index.search([item], 100, split="train")[0]} == {"train"}
    assert {hit.dialogue for hit in index.search([item], 100, only_dialogues=["d4"])[0]} == {"d4"}
    assert "d4" not in {hit.dialogue for hit in index.search([item], 100, exclude_dialogues=[["d4"]])[0]}
    with pytest.raises(SpecError, match="valid"):
        index.search([item], split="valid")
    with pytest.raises(InputError, match="2 entries but there are 1 items"):
        index.search([item], exclude_dialogues=[[], []])
    with pytest.raises(InputError, match="k must be at least 1"):
        index.search([item], 0)


def test_items_asked_together_find_what_each_finds_alone_and_a_reopened_index_too(tmp_path: Path) -> None:
    index = ThreeFieldIndex.build(made_up(50), tmp_path / "index")
    items = [item_at(d, len(d.turns) // 2) for d in made_up(9, seed=5)]
    together = index.search(items, 4)
    assert together == [index.search([item], 4)[0] for item in items]
    assert ThreeFieldIndex.open(tmp_path / "index").search(items, 4) == together


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="k1 must be"):
        Settings(k1=-1)
    with pytest.raises(SpecError, match="window"):
        Settings(past=0)
    with pytest.raises(SpecError, match="epsilon must be above 0"):
        ThreeFieldIndex.build(made_up(2), tmp_path / "index", epsilon=0)
    with pytest.raises(InputError, match="no passage"):
        ThreeFieldIndex.build([], tmp_path / "none")


def test_weights_agree_with_their_own_exact_evaluation(tmp_path: Path) -> None:
    index = ThreeFieldIndex.build(made_up(300), tmp_path / "index")
    item = item_at(made_up(1, seed=9)[0], 1)
    (bounds,) = index._bounds([index.windows.of(item)])
    exact = index.scores(item)
    assert np.all(bounds.low <= exact)
    assert np.all(exact <= bounds.high)


class BagOfWords:
    """An encoder that hashes words into a few dimensions."""

    name, digest, dimensions, max_tokens = "bag", "d1", 16, 32

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.split():
                row[zlib.crc32(word.encode()) % self.dimensions] += 1
            row /= np.linalg.norm(row) or 1
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        raise NotImplementedError

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def of_kind(kind: str, dialogues: list[Dialogue], folder: Path) -> FieldSearch:
    words = ThreeFieldIndex.build(dialogues, folder / "words", epsilon=EPSILON)
    vectors = DenseThreeFieldIndex.build(dialogues, folder / "vectors", BagOfWords(), epsilon=EPSILON)
    return {"dense": vectors, "hybrid": HybridThreeFieldIndex(words, vectors, 3.0)}[kind]


def cosine_sum(dialogues: list[Dialogue], item: Item) -> list[float]:
    """The dense similarity of every turn, in plain Python over the encoder's vectors."""

    def field(texts: Sequence[str]) -> np.ndarray:
        total = BagOfWords().encode(texts).astype(float).sum(axis=0)
        return total / np.linalg.norm(total)

    asked = [[t.text for t in item.context[-2:]], [r.text for r in item.references], [t.text for t in item.future[:2]]]
    totals = []
    for dialogue in dialogues:
        texts = [turn.text for turn in dialogue.turns]
        for place in range(len(texts)):
            has = [texts[max(0, place - 2) : place], [texts[place]], texts[place + 1 : place + 3]]
            scores = [
                max((1 + field(q) @ field(d)) / 2, EPSILON) if d else EPSILON
                for q, d in zip(asked, has, strict=True)
                if q
            ]
            totals.append(sum(map(math.log, scores)))
    return totals


def test_the_dense_score_is_the_sum_of_logs_of_shifted_cosines(tmp_path: Path) -> None:
    dialogues, item = made_up(20), item_at(made_up(1, seed=9)[0], 1)
    index = of_kind("dense", dialogues, tmp_path)
    assert index.scores(item) == pytest.approx(cosine_sum(dialogues, item), rel=1e-5)


def test_the_hybrid_score_is_the_weighted_sum_of_both(tmp_path: Path) -> None:
    dialogues, item = made_up(20), item_at(made_up(1, seed=9)[0], 1)
    both = np.array(direct(dialogues, item)) + 3.0 * np.array(cosine_sum(dialogues, item))
    assert of_kind("hybrid", dialogues, tmp_path).scores(item) == pytest.approx(both, rel=1e-5)


@pytest.mark.parametrize("kind", ["dense", "hybrid"])
def test_the_other_kinds_find_what_comparing_all_finds_and_no_copy(kind: str, tmp_path: Path) -> None:
    dialogues = made_up(200, seed=3)
    index = of_kind(kind, dialogues, tmp_path)
    items = [item_at(d, 1, None) for d in made_up(60, seed=5) if len(d.turns) > 2][:20]
    names = [(d.id, t) for d in dialogues for t in range(len(d.turns))]
    for item, hits in zip(items, index.search(items, 5), strict=True):
        assert hits == index.search([item], 5)[0]
        scores = index.scores(item)
        barred = {index._passages.ids[n] for n in index._copies.find(item)}
        order = sorted(
            (n for n in range(len(names)) if names[n][0] not in barred), key=lambda n: (-scores[n], names[n])
        )
        assert [(hit.dialogue, hit.turn) for hit in hits] == [names[n] for n in order[:5]]
    own = next(d for d in dialogues if len(d.turns) > 3)
    assert own.id not in {hit.dialogue for hit in index.search([item_at(own, 1, None)], 1000)[0]}


def test_indexes_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    words = ThreeFieldIndex.build(made_up(3), tmp_path / "words")
    vectors = DenseThreeFieldIndex.build(made_up(3, seed=1), tmp_path / "vectors", BagOfWords())
    with pytest.raises(SpecError, match="different turns"):
        HybridThreeFieldIndex(words, vectors)
    other = BagOfWords()
    other.digest = "d2"
    with pytest.raises(SpecError, match="was built with the encoder"):
        DenseThreeFieldIndex.open(tmp_path / "vectors", other)


def test_an_index_in_the_cache_is_built_once_and_by_content(own_cache: Path) -> None:
    asked = []

    def read() -> list[Dialogue]:
        asked.append(1)
        return made_up(5)

    first = open_three_field(read)
    assert len(asked) == 2  # for the digest, and to be indexed
    assert open_three_field(read).search([Item("i", (Turn("cat"),))]) == first.search([Item("i", (Turn("cat"),))])
    assert len(asked) == 3
    open_three_field(lambda: made_up(6))
    open_three_field(read, settings=Settings(b=0.5))
    assert len(list((own_cache / "indexes").iterdir())) == 3


def test_retrieved_proposals_are_new_and_carry_their_past() -> None:
    talk = Dialogue("a", (Turn("Where is the station?"), Turn("Over there."), Turn("Thanks.")))
    same = Dialogue("b", (Turn("Is the station far?"), Turn("Just round the corner!"), Turn("Thanks a lot.")))
    again = Dialogue("c", (Turn("Is the old station far?"), Turn("just round the corner"), Turn("Good.")))
    item = Item("i", (Turn("How far is the station?"),), (Reference("It is round the corner."),), (Turn("Thanks."),))
    (found,) = Retrieval().over([talk, same, again, *made_up(5)]).propose([item], 10)
    assert found[0].text.lower().startswith("just round the corner")
    assert (found[0].source, found[0].origin, len(found[0].past)) == ("retrieval", None, 1)
    assert sum("corner" in proposal.text for proposal in found) == 1
    assert str(Retrieval(kind="dense", epsilon=0.1)) == "retrieval(kind='dense', epsilon=0.1)"
    with pytest.raises(SpecError, match="n must be at least 1"):
        Retrieval().over([talk]).propose([item], 0)


def test_a_search_by_some_fields_equals_one_without_the_others_and_still_bars_copies(tmp_path: Path) -> None:
    dialogues = made_up(30)
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index")
    for dialogue in [d for d in dialogues if len(d.turns) > 2][:8]:
        item = item_at(dialogue, 1)
        (by_past,) = index.search([item], 6, fields=("past",))
        (alone,) = index.search([replace(item, references=(), future=())], 20)
        found = [(hit.dialogue, hit.turn) for hit in by_past]
        assert found == [place for place in ((h.dialogue, h.turn) for h in alone) if place[0] != dialogue.id][:6]
    with pytest.raises(InputError, match="fields must be some of past, response, future"):
        index.search([item], 6, fields=("context",))


def test_with_past_alone_two_lists_take_turns() -> None:
    dialogues = made_up(40)
    item = item_at(next(d for d in dialogues if len(d.turns) > 3), 2)
    (whole,) = Retrieval().over(dialogues).propose([item], 10)
    (mixed,) = Retrieval(past_alone=True).over(dialogues).propose([item], 10)
    assert len(mixed) == 10
    assert len({one.text for one in mixed}) == 10
    assert mixed[0] == whole[0]
    assert {one.text for one in whole[:5]} <= {one.text for one in mixed}
    assert str(Retrieval(past_alone=True)) == "retrieval(past_alone=True)"


def test_retrieval_over_a_file_leaves_a_test_dialogue_in_it_unused(tmp_path: Path) -> None:
    from rejoinder.data.writer import write

    talk = Dialogue("renamed", tuple(map(Turn, TALK)))
    write([talk, *made_up(20)], tmp_path / "corpus.jsonl")
    (found,) = Retrieval().over_file(str(tmp_path / "corpus.jsonl")).propose([item_at(talk, 1, "test-1")], 50)
    assert not {proposal.text for proposal in found} & set(TALK)


def test_the_example_items_serve_each_other_as_a_corpus_and_get_fifteen_references() -> None:
    from rejoinder.data.inputs import read

    file = str(Path(__file__).parent.parent / "examples" / "chats.jsonl")
    items = list(read(file).items.values())
    turns = {item.dialogue: {turn.text for turn in (*item.context, *item.future)} for item in items}
    for item, found in zip(items, Retrieval().over_file(file).propose(items, 15), strict=True):
        assert len({proposal.text for proposal in found}) == 15
        assert not {proposal.text for proposal in found} & turns[item.dialogue]


@pytest.mark.parametrize("once", ["never", "query", "both"])
def test_words_may_keep_their_case_and_count_once(tmp_path: Path, once: Once) -> None:
    """The scores of the past alone are the formula's, with the words that the settings name."""
    talks = [["Go , go !", "Yes ."], ["go go , Tom", "No ."], ["Sit down .", "Why ?"], ["Go home , go", "Never ."]]
    dialogues = [Dialogue(f"d{n}", tuple(map(Turn, talk))) for n, talk in enumerate(talks)]
    settings = Settings(1.5, 0.75, tokenizer="whitespace", lowercase=False, once=once)
    index = ThreeFieldIndex.build(dialogues, tmp_path / "index", settings=settings, epsilon=EPSILON)
    asked = Item("i", (Turn("Go , Go now"),))
    pasts = [words for talk in talks for words in ([], talk[0].split())]
    bags = [Counter(set(words) if once == "both" else words) for words in pasts]
    mean = sum(sum(bag.values()) for bag in bags) / len(bags)
    words = asked.context[0].text.split() if once == "never" else sorted(set(asked.context[0].text.split()))
    wanted = []
    for bag in bags:
        damped = 1.5 * (0.25 + 0.75 * sum(bag.values()) / mean)
        score = sum(
            math.log(len(bags) / sum(word in other for other in bags)) * 2.5 * bag[word] / (damped + bag[word])
            for word in words
            if bag[word]
        )
        wanted.append(math.log(max(score, EPSILON)))
    assert index.scores(asked) == pytest.approx(wanted, abs=1e-5)


def test_settings_of_words_are_checked() -> None:
    with pytest.raises(SpecError, match="tokenizer='rouge' lower-cases"):
        Settings(tokenizer="rouge", lowercase=False)
    with pytest.raises(SpecError, match="once"):
        Settings(once="twice")  # type: ignore[arg-type]
