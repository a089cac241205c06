from __future__ import annotations

import itertools
import json
import math
import random
from importlib.metadata import version
from pathlib import Path

import pytest

from rejoinder.errors import SpecError
from rejoinder.metric import Metric, parse, signature
from rejoinder.metrics import meteor as _sentence
from rejoinder.metrics._alignment import WordCandidates, align_words
from rejoinder.metrics.meteor import EXACT, STEM, SYNONYM, Meteor
from rejoinder.text.english import synonyms
from rejoinder.types import Item, Pair, Reference, Response


def meteor(reply: str, *references: str, metric: Metric | None = None) -> float:
    pair = Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))
    return (metric or Meteor()).score([pair])[0]


def tokens(text: str) -> str:
    return " ".join(word.text for word in _sentence.parse_meteor_sentence(text).words)


# What METEOR 1.5's program says (java -jar meteor-1.5.jar, -norm -m 'exact stem synonym' -w '1.0 0.6 0.8'), on texts
# whose function words are the same in its list and in ours.
OF_THE_PROGRAM = [
    ("the cars were fast", "the automobile was quick", 0.825),
    ("i like cars a lot", "i like car a lot", 0.890909090909091),
    ("the walking man", "the walked men", 0.7428571428571429),
    ("aa aa bb", "bb aa cc aa", 0.31168831168831174),
    ("talked a", "talk a talks talking", 0.14697528062225398),
    ("a cars b", "car b a", 0.3701520668633696),
    ("the cars", "the car", 0.7),
    ("went", "move", 0.8),
    ("happier", "glad", 0.8),
    ("cars", "dogs", 0.0),
]


@pytest.mark.parametrize(("reply", "reference", "expected"), OF_THE_PROGRAM)
def test_meteor_gives_the_number_of_the_java_program(reply: str, reference: str, expected: float) -> None:
    assert meteor(reply, reference) == pytest.approx(expected, abs=1e-9)


def test_meteor_is_the_number_worked_out_by_hand() -> None:
    # the cat sat | the cat sat on the mat: one chunk of three; the and on are function words
    precision = 1.0
    recall = (0.75 * 2 + 0.25 * 1) / (0.75 * 3 + 0.25 * 3)
    f = precision * recall / (0.85 * precision + 0.15 * recall)
    expected = f * (1 - 0.6 * (1 / 3) ** 0.2)
    assert meteor("The cat sat", "the cat sat on the mat") == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(0.3225, abs=1e-4)


def test_each_parameter_changes_what_it_says() -> None:
    reply, reference = "the big car", "a large automobile runs in the city"
    assert meteor(reply, reference, metric=parse("meteor(synonym=0)")) < meteor(reply, reference)
    assert meteor("cars", "car", metric=parse("meteor(stem=0)")) == pytest.approx(0.8)  # still synonyms
    assert meteor("cars", "car", metric=parse("meteor(stem=0, synonym=0)")) == 0.0
    assert meteor("cars", "car", metric=parse("meteor(stem=0.3)")) == pytest.approx(0.3)
    unpenalised = meteor(reply, reference, metric=parse("meteor(gamma=0)"))
    assert unpenalised > meteor(reply, reference)
    # Where all words weigh the same: at alpha=0 the precision, two of three; at alpha=1 the recall, two of four.
    exact = "meteor(gamma=0, stem=0, synonym=0, delta=0.5, "
    assert meteor("one two three", "one two x y", metric=parse(exact + "alpha=0)")) == pytest.approx(2 / 3)
    assert meteor("one two three", "one two x y", metric=parse(exact + "alpha=1)")) == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    "parameter", ["alpha=1.5", "gamma=-1", "delta=0", "delta=1", "beta=-1", "stem=2", "synonym=-0.1", "beta=1e999"]
)
def test_a_parameter_out_of_range_is_named(parameter: str) -> None:
    with pytest.raises(SpecError, match=f"meteor: {parameter.partition('=')[0]} must be"):
        parse(f"meteor({parameter})")


def test_a_spec_reads_back_as_the_same_metric() -> None:
    metric = parse("meteor(alpha=0.9, beta=3, gamma=0.5, delta=0.5, stem=1, synonym=1)")
    assert parse(str(metric)) == metric
    assert str(parse("meteor")) == "meteor"


def test_the_signature_says_where_the_synonyms_come_from() -> None:
    shown = signature(Meteor())
    assert f"synonyms:wordnet-3.0 {synonyms.synonym_table_digest()}" in shown
    assert f"snowballstemmer:{version('snowballstemmer')}" in shown
    assert "paraphrases:none" in shown
    assert "wordnet" not in signature(Meteor(synonym=0.0))


def test_without_references_or_words_there_is_no_score() -> None:
    assert math.isnan(meteor("hello"))
    assert math.isnan(meteor("hello", " "))
    assert math.isnan(meteor(" ", "hello"))
    assert meteor("hello", " ", "hello") == 1.0


def test_an_identical_reply_scores_one_and_none_scores_more() -> None:
    chance = random.Random(3)
    words = "the a car automobile auto go went going goes , . is big large".split()
    for _ in range(300):
        reply = " ".join(chance.choices(words, k=chance.randint(1, 8)))
        references = [" ".join(chance.choices(words, k=chance.randint(1, 8))) for _ in range(3)]
        score = meteor(reply, *references)
        assert 0 <= score <= 1
        assert meteor(reply, *references[::-1]) == score
        assert score == max(meteor(reply, reference) for reference in references)
        assert meteor(reply, *references, reply) == pytest.approx(1.0)


def test_the_best_reference_is_the_one_matched() -> None:
    pair = Pair(
        Item("i", (), (Reference("no"), Reference("a fast car"), Reference("dogs"))),
        Response("r", "i", "s", "quick cars"),
    )
    assert Meteor().match([pair]) == [1]


def objective(links: list[tuple[int, int, int]]) -> tuple[int, int, int, int]:
    """What the alignment is chosen by: more pairs, fewer chunks, less distance, earlier stages."""
    ordered = sorted(links, key=lambda link: link[1])
    joined = sum(a[0] + 1 == b[0] and a[1] + 1 == b[1] for a, b in itertools.pairwise(ordered))
    distance = sum(abs(i - j) for i, j, _ in links)
    return (-len(links), len(links) - joined, distance, sum(stage for *_, stage in links))


def every_alignment(reference: list[WordCandidates]) -> list[list[tuple[int, int, int]]]:
    found: list[list[tuple[int, int, int]]] = [[]]
    for place, (_, stages) in enumerate(reference):
        found += [
            [*links, (i, place, stage)]
            for links in found
            for i, stage in stages
            if i not in {link[0] for link in links}
        ]
    return found


@pytest.mark.parametrize("density", [0.15, 0.3, 0.5])
def test_the_alignment_is_the_best_of_all_on_short_texts(density: float) -> None:
    chance = random.Random(int(density * 100))
    for _ in range(400):
        length = chance.randint(1, 6)
        reference = []
        for _ in range(chance.randint(1, 6)):
            stages = [(i, chance.choice([EXACT, STEM, SYNONYM])) for i in range(length) if chance.random() < density]
            reference.append(WordCandidates(sum(1 << i for i, _ in stages), stages))
        links, chunks = align_words(reference)
        best = min(map(objective, every_alignment(reference)))
        assert objective(links) == best
        assert chunks == best[1]


@pytest.mark.parametrize("words", ["ab", "abc", "abcde"])
def test_the_alignment_is_the_best_of_all_where_words_repeat(words: str) -> None:
    chance = random.Random(len(words))
    for _ in range(200):
        reply, text = (chance.choices(words, k=chance.randint(1, 6)) for _ in range(2))
        reference = []
        for word in text:
            stages = [(i, EXACT) for i, other in enumerate(reply) if other == word]
            reference.append(WordCandidates(sum(1 << i for i, _ in stages), stages))
        links, chunks = align_words(reference)
        best = min(map(objective, every_alignment(reference)))
        assert objective(links) == best
        assert chunks == best[1]


def test_of_repeated_words_those_that_keep_a_chunk_whole_are_paired() -> None:
    # "the" stands twice in the reply; pairing the first would break "the cat" in two
    whole = meteor("the dog saw the cat", "the cat")
    precision, recall = (0.75 + 0.25) / (0.75 * 3 + 0.25 * 2), 1.0
    f = precision * recall / (0.85 * precision + 0.15 * recall)
    assert whole == pytest.approx(f * (1 - 0.6 * (1 / 2) ** 0.2))


def test_a_reply_that_goes_round_in_circles_is_still_scored() -> None:
    assert 0 < meteor("i don't know. " * 300, "i don't know what you mean, i really don't.") < 0.1


def test_the_formula_is_that_of_nltk_where_only_exact_words_count() -> None:
    score = pytest.importorskip("nltk.translate.meteor_score")

    class NoStems:
        def stem(self, word: str) -> str:
            return word

    class NoSynonyms:
        def synsets(self, word: str) -> list[object]:
            return []

    metric = parse("meteor(alpha=0.9, beta=3, gamma=0.5, delta=0.5, stem=0, synonym=0)")
    chance = random.Random(1)
    words = [f"w{i}" for i in range(12)]  # without repetition there is one alignment, whoever looks for it
    for _ in range(200):
        reply, one, other = (chance.sample(words, chance.randint(1, 8)) for _ in range(3))
        if reply in (one, other):  # NLTK has a penalty even for these
            continue
        expected = score.meteor_score([one, other], reply, stemmer=NoStems(), wordnet=NoSynonyms())
        assert meteor(" ".join(reply), " ".join(one), " ".join(other), metric=metric) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, world.", "hello , world ."),
        ("I don't know; it's Tom's!", "i don 't know ; it 's tom 's !"),
        ("He lives in the U.S. now.", "he lives in the us now ."),
        ("at 5 p.m. e.g. a Ph.D.", "at 5 pm eg a phd"),
        ("Mr. Smith paid $1,000.50 (50%)...", "mr. smith paid $ 1,000.50 ( 50 % ) ..."),
        ("“quoted” ‘single’ it’s ``this''", '" quoted " \' single \' it \'s " this "'),
        ("a well-known state-of-the-art e-mail", "a well known state of the art e mail"),
        ("wait -- what?!", "wait - what ? !"),
        ("see www.example.com", "see www.example.com"),
        ("naïve café cafe\u0301 日本語", "naïve café café 日本語"),
        ("that is great. thanks", "that is great . thanks"),
    ],
)
def test_texts_are_cut_as_meteor_normalises_them(text: str, expected: str) -> None:
    assert tokens(text) == expected


def test_punctuation_and_the_ends_of_contractions_are_function_words() -> None:
    content = {
        word.text: word.is_content for word in _sentence.parse_meteor_sentence("It's a dog, isn't it? ... cats").words
    }
    assert [word for word, is_content in content.items() if is_content] == ["dog", "isn", "cats"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("car", "automobile"),
        ("cars", "automobiles"),
        ("went", "go"),
        ("went", "travel"),
        ("children", "kid"),
        ("better", "good"),
        ("mice", "mouse"),
        ("cities", "metropolis"),
        ("buying", "purchase"),
        ("stopped", "halt"),
        ("bigger", "large"),
    ],
)
def test_synonyms_share_a_meaning_even_when_inflected(one: str, other: str) -> None:
    assert synonyms.find_word_meanings(one) & synonyms.find_word_meanings(other)


def test_words_that_are_no_synonyms_share_none() -> None:
    assert not synonyms.find_word_meanings("car") & synonyms.find_word_meanings("dog")
    assert not synonyms.find_word_meanings("qwertz")
    # The synsets of "entity" (a noun) and of "able" (an adjective) have the same number in WordNet's own files.
    assert not synonyms.find_word_meanings("entity") & synonyms.find_word_meanings("able")


def test_irregular_forms_have_their_base_form() -> None:
    assert synonyms.word_base_forms("went") == ["go"]
    assert synonyms.word_base_forms("cars") == ["car"]
    assert synonyms.word_base_forms("operating") == ["operating", "operate"]
    assert synonyms.word_base_forms("qwertz") == []


def test_the_licence_of_wordnet_travels_with_the_table() -> None:
    folder = Path(synonyms.__file__).parent / "wordnet"
    assert "WordNet 3.0 Copyright 2006 by Princeton University." in (folder / "LICENSE").read_text()
    assert (folder / "synonyms.json.gz").stat().st_size < 2 * 2**20


# The words above a thousandth that come from Wikipedia's pages rather than from English, and its spelled-out digits.
OF_WIKIPEDIA = set(
    "utc talk page rd article references score links team discussion american united name th see".split()
)
DIGITS = set("zero one two three four five six seven eight nine".split())


def test_the_function_words_are_those_above_a_thousandth(published: Path) -> None:
    lines = (published / "knowledge" / "sif" / "enwiki_vocab_min200.txt").read_text(encoding="utf-8").splitlines()
    counts = {word: int(count) for word, count in map(str.split, lines) if word not in DIGITS}
    total = sum(counts.values())
    assert {word for word, count in counts.items() if count / total > 1e-3} - OF_WIKIPEDIA == _sentence.FUNCTION_WORDS


# The difference to METEOR 1.5 with its paraphrase tables, as measured; see docs/meteor.md.
@pytest.mark.parametrize(
    ("name", "spearman"),
    [("singleref", 0.109), ("multiref", 0.250), ("scarce.singleref", 0.255), ("scarce.multiref", 0.332)],
)
def test_the_correlation_with_ratings_is_near_the_published_one(published: Path, name: str, spearman: float) -> None:
    from scipy.stats import spearmanr

    folder = published / "judgements" / "scarce"
    rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    pairs = [
        Pair(
            Item(str(i), (), tuple(Reference(t) for t in row["all_references"] if t.strip())),
            Response(str(i), str(i), row["model"], row["response"]),
        )
        for i, row in enumerate(rows)
    ]
    found = spearmanr(Meteor().score(pairs), [float(row["human_average_rating"]) for row in rows]).statistic
    by_the_program = json.loads((folder / f"{name}.published.json").read_text(encoding="utf-8"))["METEOR"]["spearmanr"]
    assert found == pytest.approx(by_the_program, abs=0.05)
    assert found == pytest.approx(spearman, abs=0.005)
