from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from sacrebleu.metrics.bleu import BLEU

from rejoinder.errors import SpecError
from rejoinder.metric import parse, signature
from rejoinder.metrics import _ngram, _token_pairs, rouge_l
from rejoinder.metrics.bleu import Bleu
from rejoinder.types import Item, Pair, Reference, Response

WORDS = "the the the . . , i you do not know what is it a b".split()
ORDERS = [1, 2, 3, 4]


def pair(reply: str, *references: str) -> Pair:
    return Pair(Item("i", (), tuple(map(Reference, references))), Response("r", "i", "s", reply))


def sentences(seed: int, n: int) -> list[tuple[str, list[str]]]:
    """Replies of 1 to 14 tokens with 1 to 5 references: many repeats, many short ones, some without any match."""
    r = random.Random(seed)

    def sentence() -> str:
        return " ".join(r.choices(WORDS, k=r.choice([1, 2, 3, 4, 5, 8, 14])))

    made = [(sentence(), [sentence() for _ in range(r.randint(1, 5))]) for _ in range(n)]
    return [*made, ("x y z", ["a b c d"]), ("x", ["x"]), ("a b c d e", ["a b c d e"]), ("x", ["a", "x x x"])]


def coco_bleu(reply: Sequence[str], references: Sequence[Sequence[str]], n: int) -> float:
    """The definition that the COCO caption scorer follows, written down directly."""

    def counts(tokens: Sequence[str], k: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(tokens[i : i + k]) for i in range(len(tokens) - k + 1))

    product = 1.0
    for k in range(1, n + 1):
        highest: Counter[tuple[str, ...]] = Counter()
        for reference in references:
            highest |= counts(reference, k)
        matches = sum((counts(reply, k) & highest).values())
        product *= (matches + 1e-15) / (max(0, len(reply) - k + 1) + 1e-9)
    closest = min((len(reference) for reference in references), key=lambda m: (abs(m - len(reply)), m))
    ratio = (len(reply) + 1e-15) / (closest + 1e-9)
    return product ** (1 / n) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1)


@pytest.mark.parametrize("n", ORDERS)
def test_epsilon_follows_the_definition_of_the_coco_scorer(n: int) -> None:
    metric = Bleu(n=n, smoothing="epsilon", tokenizer="whitespace", lowercase=False)
    given_ = sentences(1, 400)
    found = metric.score([pair(reply, *references) for reply, references in given_])
    for (reply, references), score in zip(given_, found, strict=True):
        expected = coco_bleu(reply.split(), [r.split() for r in references], n)
        assert score == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", ORDERS)
def test_method7_is_that_of_nltk(n: int) -> None:
    smoothing = SmoothingFunction().method7
    metric = Bleu(n=n, smoothing="method7", tokenizer="whitespace")
    given_ = sentences(2, 400)
    found = metric.score([pair(reply, *references) for reply, references in given_])
    for (reply, references), score in zip(given_, found, strict=True):
        weights = (1 / n,) * n
        expected = sentence_bleu([r.split() for r in references], reply.split(), weights, smoothing)
        assert score == pytest.approx(float(expected), abs=1e-12)


def test_method7_of_an_equal_reply_is_above_1_and_at_the_end_of_its_range() -> None:
    metric = Bleu(smoothing="method7")
    # 4/3, 10/9, 28/27 and 82/81, each the mean of the one before, 1 and 1; NLTK gives the same.
    expected = (4 / 3 * 10 / 9 * 28 / 27 * 82 / 81) ** 0.25
    assert metric.score([pair("a b c d e f", "a b c d e f")]) == [pytest.approx(expected)]
    assert metric.range == (0.0, pytest.approx(expected))
    assert Bleu.range == Bleu().range == (0.0, 1.0)


def test_method7_without_any_word_in_common_is_0() -> None:
    assert Bleu(smoothing="method7").score([pair("x y", "a b"), pair("x", "a")]) == [0.0, 0.0]


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("lowercase", [True, False])
def test_exp_is_the_sentence_score_of_sacrebleu(n: int, lowercase: bool) -> None:
    sacrebleu = BLEU(lowercase=lowercase, tokenize="13a", max_ngram_order=n, effective_order=True)
    metric = Bleu(n=n, smoothing="exp", lowercase=lowercase)
    lines = [*sentences(3, 300), ("It's 3.5% (OK), isn't it?", ["it's 3.5 % OK , is n't it ?", "No."])]
    found = metric.score([pair(reply, *references) for reply, references in lines])
    for (reply, references), score in zip(lines, found, strict=True):
        assert score == pytest.approx(sacrebleu.sentence_score(reply, references).score / 100, abs=1e-12)


@pytest.mark.parametrize("n", ORDERS)
def test_none_is_the_score_of_sacrebleu_without_smoothing(n: int) -> None:
    sacrebleu = BLEU(lowercase=True, tokenize="13a", max_ngram_order=n, smooth_method="none")
    found = Bleu(n=n, smoothing="none").score([pair(reply, *references) for reply, references in sentences(4, 300)])
    for (reply, references), score in zip(sentences(4, 300), found, strict=True):
        assert score == pytest.approx(sacrebleu.corpus_score([reply], [[r] for r in references]).score / 100, abs=1e-12)


@given(st.lists(st.text("ab c", min_size=1), min_size=1, max_size=4), st.text("ab c", min_size=1))
@settings(deadline=None, derandomize=True, database=None)
def test_any_texts_give_a_score_within_the_range_or_nan(references: list[str], reply: str) -> None:
    for smoothing in ("epsilon", "method7", "exp", "none"):
        metric = Bleu(smoothing=smoothing)
        score = metric.score([pair(reply, *references)])[0]
        assert math.isnan(score) == (not reply.strip() or not "".join(references).strip())
        assert math.isnan(score) or metric.range[0] <= score <= metric.range[1]


def test_a_long_reply_is_counted_like_a_short_one() -> None:
    r = random.Random(5)
    reply, first, second = (r.choices(WORDS + [f"w{i}" for i in range(40)], k=400) for _ in range(3))
    metric = Bleu(smoothing="epsilon", tokenizer="whitespace")
    found = metric.score([pair(" ".join(reply), " ".join(first), " ".join(second))])
    assert found == [pytest.approx(coco_bleu(reply, [first, second], 4), rel=1e-12)]


def test_the_closest_reference_of_two_as_near_is_the_shorter() -> None:
    # 4 tokens against 3 and 5: no brevity penalty; against 5 alone exp(1 - 5/4).
    metric = Bleu(n=1, smoothing="none")
    assert metric.score([pair("a b c d", "a b c d e", "x y z"), pair("a b c d", "a b c d e")]) == [
        1.0,
        pytest.approx(math.exp(-1 / 4)),
    ]


def test_n_grams_that_span_two_references_do_not_match() -> None:
    assert Bleu(n=2, smoothing="none").score([pair("b c", "a b", "c d")]) == [0.0]


def test_what_cannot_be_said_is_nan() -> None:
    found = Bleu().score([pair("hello"), pair(" ", "hello"), pair("hello", " "), pair("hello", " ", "hello")])
    assert [math.isnan(v) for v in found] == [True, True, True, False]


def test_a_repeated_item_gives_the_scores_of_single_ones() -> None:
    item = Item("i", (), (Reference("the cat sat on the mat"), Reference("a cat sat")))
    other = Item("j", (), (Reference("the dog"),))
    texts = ["the cat", "a cat sat on the mat", "no"]
    pairs = [Pair(i, Response("r", i.id, "s", t)) for i in (item, item, other, item) for t in texts]
    assert Bleu().score(pairs) == [Bleu().score([one])[0] for one in pairs]


def test_the_reference_that_matches_best_is_named() -> None:
    assert Bleu().match([pair("how are you ?", "fine .", "how are you ?", "how are you ?")]) == [1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bleu(n=5)", "bleu: n must be a whole number from 1 to 4, not 5"),
        ("bleu(n=0)", "bleu: n must be a whole number from 1 to 4, not 0"),
        ("bleu(tokenizer='rouge', lowercase=False)", "bleu: tokenizer='rouge' lower-cases"),
    ],
)
def test_a_parameter_out_of_bounds_is_told(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message.replace("(", r"\(")):
        parse(spec)


def test_a_wrong_smoothing_is_told_without_a_spec_too() -> None:
    with pytest.raises(SpecError, match=r"bleu: smoothing must be one of 'epsilon', .*, not 'add'"):
        Bleu(smoothing="add")  # type: ignore[arg-type]


def test_the_signature_names_the_tokeniser_and_its_package() -> None:
    assert signature(Bleu()).startswith("bleu|n:4|smoothing:exp|tokenizer:13a|lowercase:yes|sacrebleu:")
    assert "sacrebleu" not in signature(Bleu(tokenizer="whitespace"))


@pytest.mark.parametrize("references", ["singleref", "multiref", "scarce.singleref", "scarce.multiref"])
def test_correlations_with_ratings_are_those_of_the_scarce_authors(published: Path, references: str) -> None:
    """To .0005, against the authors' result logs (harsh19/Diverse-Reference-Augmentation)."""
    from scipy.stats import kendalltau, pearsonr, spearmanr

    folder = published / "judgements" / "scarce"
    rows = json.loads((folder / f"{references}.json").read_text("utf-8"))
    expected = json.loads((folder / f"{references}.published.json").read_text("utf-8"))
    pairs = [pair(row["response"], *filter(None, row["all_references"])) for row in rows]
    ratings = [float(row["human_average_rating"]) for row in rows]
    for n in ORDERS:
        scores = Bleu(n=n, smoothing="epsilon", tokenizer="whitespace", lowercase=False).score(pairs)
        of_n = expected[f"Bleu_{n}"]
        assert spearmanr(scores, ratings)[0] == pytest.approx(of_n["spearmanr"], abs=0.0005)
        assert pearsonr(scores, ratings)[0] == pytest.approx(of_n["pearsonr"], abs=0.0005)
        assert kendalltau(scores, ratings)[0] == pytest.approx(of_n["kendall_tau"], abs=0.0005)


@pytest.mark.parametrize("name", ["_PAIRS", "_CHARACTERS"])
@pytest.mark.parametrize("spec", ["bleu", "rouge_l", "rouge_l(aggregate='best')"])
def test_scores_do_not_depend_on_how_many_pairs_are_compared_together(
    spec: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(0)
    words = "the cat sat on a mat , . don't 3.5 é internationally".split()
    texts = [" ".join(rng.choices(words, k=rng.choice([0, 1, 3, 9, 80]))) for _ in range(60)]
    pairs = [pair(rng.choice(texts), *rng.sample(texts, rng.choice([0, 1, 4]))) for _ in range(100)]
    metric = parse(spec)
    expected = [metric.score([one])[0] for one in pairs]
    monkeypatch.setattr(_token_pairs, name, 3)
    monkeypatch.setattr(_ngram, "_BITS", 12)  # as in texts of millions of tokens
    monkeypatch.setattr(rouge_l, "_CHARACTERS", 5)
    assert metric.score(pairs) == pytest.approx(expected, abs=0, nan_ok=True)
