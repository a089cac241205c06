"""What every registered metric owes, whoever wrote it."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import tiny_models

import rejoinder
from rejoinder.metric import PARTS, Metric, SetMetric, metric_class, metric_names
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import is_model_available
from rejoinder.scoring import compute
from rejoinder.types import Item, Pair, Reference, Response, Turn

WORDS = "yes no maybe the train leaves at nine o'clock I think so what about you? fine, thanks! ok 👍 don't".split()
ODD = ["ok", "?", "…", "a", "日本語です", "x" * 3000, "ha " * 400, "\u200b\u200b!", "ß ſ İ", "1 2 3", "\t tab\n new"]


def pairs(seed: int = 0, n: int = 60) -> list[Pair]:
    r = random.Random(seed)

    def text() -> str:
        return r.choice(ODD) if r.random() < 0.2 else " ".join(r.choices(WORDS, k=r.randint(1, 15)))

    made = []
    for i in range(n):
        references = tuple(Reference(text()) for _ in range(r.randint(1, 4)))
        item = Item(f"i{i}", (Turn(text(), "A"), Turn(text(), "B")), references, (Turn(text(), "A"),))
        made.append(Pair(item, Response(f"r{i}", item.id, f"s{i % 3}", text())))
    return made


# Parameters that change what a metric needs, its range or its stages.
VARIANTS = [
    "aptness(model='bi')",
    "aptness(model='cross')",
    "bert_ruber(part='unreferenced')",
    "bertscore(part='precision')",
    "bleu(smoothing='epsilon')",
    "bleu(smoothing='method7')",
    "cosine(encoder='glove-6b-50d', pooling='max')",
    "delta_bleu(smoothing='epsilon', human=0.5)",
    "distinct(over='system')",
    "dynaeval(folder='authors')",
    "grade(folder='authors')",
    "json_schema(anywhere=True)",
    "language(code='de')",
    "length(unit='characters')",
    "meteor(synonym=0.0, stem=0.0)",
    "rouge_l(tokenizer='rouge', aggregate='best')",
    "self_bleu(over='references')",
    "sentence_mover(encoder='glove-6b-50d', units='both')",
    "with_references(metric='rouge_l', sources='human+retrieval')",
]

# Metrics that need a parameter, with one.
WITH_PARAMETERS = {
    "contains": "contains(text='train')",
    "forbidden_words": "forbidden_words(words='maybe, train*')",
    "max_words": "max_words(n=8)",
    "regex": "regex(pattern=r'\\d+')",
}
# The part that needs no torch.
WITH_PARAMETERS["usr"] = "usr(part='dr')"
# Metrics whose default model is the embedded language model.
LANGUAGE_MODEL = ("fed", "judge", "norm_prob")
# Networks in torch; with folder='authors', adapters of checkpoints that their authors publish: tiny ones stand in.
CHECKPOINTS = ("dynaeval", "grade")


PARAMS = [*(WITH_PARAMETERS.get(name, name) for name in metric_names()), *VARIANTS]


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A cache with the models of a metric, the same for all tests, so that each text is encoded once."""

    @functools.cache
    def stock(language_model: int, checkpoints: str) -> Path:
        folder = tmp_path_factory.mktemp("stocked")
        tiny_models.install(folder)
        if language_model:
            pytest.importorskip("torch")
            import tiny_language_model

            tiny_language_model.install(folder, language_model)
        if checkpoints:
            pytest.importorskip("torch")
            pytest.importorskip("nltk")
            import tiny_checkpoints

            tiny_checkpoints.install(folder, checkpoints)
        return folder

    def stock_for(metric: str) -> Path:
        name = metric.partition("(")[0]
        window = (2048 if name == "judge" else 128) if name in LANGUAGE_MODEL else 0
        return stock(window, metric if name in CHECKPOINTS else "")

    return stock_for


@pytest.fixture(params=PARAMS)
def metric(request: pytest.FixtureRequest, stocked: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Metric:
    if request.param.startswith("aptness") and not is_model_available(MODELS["aptness"]):
        pytest.skip("the weights of aptness are not in the package")
    monkeypatch.setenv("REJOINDER_THREADS", "1")  # tiny matrices only wait for each other
    monkeypatch.setenv("REJOINDER_CACHE", str(stocked(request.param)))
    return rejoinder.parse(request.param)


def same(metric: Metric, first: list[float | None], second: list[float | None]) -> bool:
    """Equal; a metric with decimals may differ in the last of them, where float noise tips the rounding."""
    if metric.decimals is None:
        return first == second
    allowed = 1.01 * 10**-metric.decimals
    return all(
        (a is None) == (b is None) and (a is None or b is None or abs(a - b) <= allowed)
        for a, b in zip(first, second, strict=True)
    )


def test_it_says_what_it_is(metric: Metric) -> None:
    cls = type(metric)
    assert cls.__doc__
    assert cls.citation
    assert cls.needs <= PARTS
    assert cls.range[0] < cls.range[1]
    assert cls.version >= 1
    assert rejoinder.parse(str(metric)) == metric
    assert hash(metric) == hash(rejoinder.parse(str(metric)))


def test_it_gives_one_score_a_pair_within_its_range(metric: Metric) -> None:
    found = metric.score(pairs())
    low, high = metric.range
    assert len(found) == 60
    assert all(math.isnan(v) or low <= v <= high for v in found)
    assert any(not math.isnan(v) for v in found)


def test_neighbours_and_order_change_no_number(metric: Metric) -> None:
    if isinstance(metric, SetMetric):
        given = pairs()
        assert same(metric, metric.statistic(given), [one for pair in given for one in metric.statistic([pair])])
        return
    given = pairs()
    whole = compute.measure_pairs(metric, given)
    # What neighbours do to a pair, they do to many of a batch: the odd replies and a quarter of the others are enough.
    alone = [i for i, pair in enumerate(given) if i % 4 == 0 or pair.response.text in ODD]
    assert same(metric, [whole[i] for i in alone], [compute.measure_pairs(metric, [given[i]])[0] for i in alone])
    assert same(metric, whole, compute.measure_pairs(metric, given[::-1])[::-1])


def test_a_set_metric_settles_the_same_in_any_order(metric: Metric) -> None:
    if not isinstance(metric, SetMetric):
        pytest.skip("it scores each pair by itself")
    given = pairs()
    forward, backward = metric.score(given), metric.score(given[::-1])[::-1]
    noise = 1e-12 if metric.decimals is None else 10**-metric.decimals
    assert forward == pytest.approx(backward, abs=noise, nan_ok=True)


def test_its_statistic_survives_the_cache(metric: Metric) -> None:
    statistics = compute.measure_pairs(metric, pairs())
    assert orjson.loads(orjson.dumps(statistics)) == statistics


def test_a_pair_that_lacks_something_has_no_score_and_harms_no_other(metric: Metric) -> None:
    given = pairs(n=5)
    bare = Pair(Item("bare", ()), Response("b", "bare", "s0", "hello there my friend"))
    empty = Pair(given[0].item, Response("e", given[0].item.id, "s0", "  "))
    found = compute.measure_pairs(metric, [given[0], bare, empty, *given[1:]])
    assert (found[1] is None) == bool(metric.needs)
    assert found[2] is None
    assert same(metric, [found[0], *found[3:]], compute.measure_pairs(metric, given))


def test_no_pairs_give_no_scores(metric: Metric) -> None:
    assert metric.score([]) == []


def test_the_reference_that_matched_best_is_one_of_them(metric: Metric) -> None:
    given = pairs(n=20)
    found = compute.match_references(metric, given)
    if "references" not in metric.needs:
        assert found == [None] * len(given)
        return
    assert all(place is None or 0 <= place < len(p.item.references) for place, p in zip(found, given, strict=True))
    echo = Pair(given[0].item, Response("echo", given[0].item.id, "s", given[0].item.references[-1].text))
    place = metric.match([echo])[0]
    if place is not None and metric.higher_is_better:
        assert given[0].item.references[place].text == echo.response.text or metric.score(
            [Pair(Item("i", (), (given[0].item.references[place],)), echo.response)]
        ) >= metric.score([Pair(Item("i", (), (given[0].item.references[-1],)), echo.response)])


def test_every_module_of_the_folder_is_one_metric() -> None:
    for name in metric_names():
        assert metric_class(name).__name__.lower() == name.replace("_", "")
