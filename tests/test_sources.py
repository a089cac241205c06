"""Candidate sources: speaker sets against a slow, direct reading of their definitions, and what every source owes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rejoinder.errors import InputError, SpecError
from rejoinder.indexes import pool_sampling
from rejoinder.indexes.corpus import Corpus, find_text_codes, is_role
from rejoinder.indexes.pool_sampling import draw_keys
from rejoinder.indexes.speakers import NOBODY
from rejoinder.sources._base import Moment, parse_source, source_class, source_names
from rejoinder.sources._set_proposer import SetProposer
from rejoinder.text.normalise import normalise_text, text_digest
from rejoinder.types import Candidate, Dialogue, Item, Reference, Turn

DRAWN = [
    "same_conversation",
    "same_partner",
    "same_partner(exclusive=True)",
    "same_speaker",
    "same_speaker(exclusive=True)",
    "random",
    "random(scope='split')",
]
TEXTS = ["Yes.", "yes", "No!", "Who is it?", "Late again", "the train", "...", "!?", "Où ça ?", "a b", "A, b."]
LASTING = ["Ann", "Bob", "Cem", None]
ROLES = ["A", "B", "user", None]


@st.composite
def corpora(draw: st.DrawFn) -> list[Dialogue]:
    """Some dialogues of two corpora in two splits, of which one has permanent speakers."""
    made = []
    for number in range(draw(st.integers(1, 8))):
        corpus = draw(st.sampled_from(["plays", "logs"]))
        split = draw(st.sampled_from(["train", "test", None]))
        speakers = st.sampled_from(LASTING if corpus == "plays" else ROLES)
        turns = draw(st.lists(st.builds(Turn, st.sampled_from(TEXTS), speakers), min_size=1, max_size=7))
        made.append(Dialogue(f"d{number}", tuple(turns), corpus, split))
    return made


# The direct reading: sets of (dialogue, turn) built turn by turn from the words of the definitions.


def said(text: str) -> str:
    words = re.findall(r"\w+", text.lower())
    return " ".join(words) or text.lower()


def who(dialogue: Dialogue, turn: Turn) -> tuple[str | None, ...]:
    """A speaker: the label within its corpus where it lasts, within its dialogue where it does not."""
    lasts = dialogue.corpus == "plays" and turn.speaker is not None
    return (dialogue.corpus, turn.speaker) if lasts else (dialogue.id, turn.speaker)


def partner(dialogue: Dialogue, place: int) -> tuple[str | None, ...] | None:
    speaker = who(dialogue, dialogue.turns[place])
    before = [who(dialogue, t) for t in dialogue.turns[:place][::-1]]
    after = [who(dialogue, t) for t in dialogue.turns[place + 1 :]]
    return next((other for other in [*before, *after] if other != speaker), None)


def direct(spec: str, dialogues: list[Dialogue], moment: Moment) -> set[str]:
    """The ids of all turns that the source may propose."""
    home = next(d for d in dialogues if d.id == moment.dialogue)
    reply = home.turns[moment.turn]
    speaker, other = who(home, reply), partner(home, moment.turn)
    banned = {said(t.text) for t in home.turns[: moment.turn + 1]}
    found = set()
    for dialogue in dialogues:
        present = {who(dialogue, t) for t in dialogue.turns}
        for place, turn in enumerate(dialogue.turns):
            same = who(dialogue, turn) == speaker
            past = dialogue is home and place <= moment.turn
            if dialogue.split != home.split or said(turn.text) in banned or (past and same):
                continue
            lasts = home.corpus == "plays" and reply.speaker is not None
            kind, _, exclusive = spec.partition("(exclusive")
            inside = {
                "same_conversation": same and dialogue is home and reply.speaker is not None,
                "same_partner": same and lasts and other is not None and other in present,
                "same_speaker": same and lasts,
                "random": not same and dialogue.corpus == home.corpus,
                "random(scope='split')": not same,
            }[kind]
            if exclusive and (dialogue is home or (kind == "same_speaker" and other in present)):
                inside = False
            if inside:
                found.add(f"{dialogue.id}/{place}")
    return found


def moments(dialogues: list[Dialogue]) -> list[Moment]:
    return [Moment(d.id, place) for d in dialogues for place in range(1, len(d.turns))]


def corpus_of(dialogues: list[Dialogue]) -> Corpus:
    """The corpus with permanent labels in ``plays`` alone, also where the few dialogues at hand would not show it."""
    shown = [Dialogue(f"play {i}", (Turn("x", "Zoe"), Turn("y", "Yan")), "plays", "other") for i in range(20)]
    shown += [Dialogue(f"log {i}", (Turn("x", "A"), Turn("y", "B")), "logs", "other") for i in range(20)]
    return Corpus.of([*dialogues, *shown])


@pytest.mark.parametrize("spec", DRAWN)
@given(dialogues=corpora(), seed=st.integers(0, 3), small=st.sampled_from([0, 16]))
@settings(max_examples=60, deadline=None)
def test_a_speaker_set_is_what_its_definition_says(spec: str, dialogues: list[Dialogue], seed: int, small: int) -> None:
    corpus = corpus_of(dialogues)
    with patch.object(pool_sampling, "_SMALL", small):  # 0: by trying first, whatever the size of a pool
        check_against_definition(spec, dialogues, corpus, seed)


def check_against_definition(spec: str, dialogues: list[Dialogue], corpus: Corpus, seed: int) -> None:
    proposer = parse_source(spec).over(corpus)
    texts = {f"{d.id}/{place}": turn.text for d in dialogues for place, turn in enumerate(d.turns)}
    wanted = moments(dialogues)
    everything = proposer.propose(wanted, 60, seed)
    few = proposer.propose(wanted, 2, seed)
    for moment, all_of_it, some in zip(wanted, everything, few, strict=True):
        allowed = direct(spec, dialogues, moment)
        for found in (all_of_it, some):
            assert {c.id for c in found} <= allowed
            assert all(c.text == texts[c.id or ""] and c.source == spec for c in found)
            assert len({said(c.text) for c in found}) == len(found)
        # One of each thing that is said, and no less.
        assert {said(c.text) for c in all_of_it} == {said(texts[name]) for name in allowed}
        assert len(some) == min(2, len(all_of_it))


@given(dialogues=corpora())
@settings(max_examples=40, deadline=None)
def test_the_sets_are_nested_and_the_exclusive_ones_are_not(dialogues: list[Dialogue]) -> None:
    corpus = corpus_of(dialogues)
    wanted = moments(dialogues)

    def ids(spec: str) -> list[set[str]]:
        return [direct(spec, dialogues, moment) for moment in wanted]

    chain = zip(wanted, ids("same_conversation"), ids("same_partner"), ids("same_speaker"), ids("random"), strict=True)
    for moment, conversation, with_partner, speaker, others in chain:
        home = next(d for d in dialogues if d.id == moment.dialogue)
        if home.corpus == "plays" and partner(home, moment.turn):
            assert conversation <= with_partner <= speaker
        assert not speaker & others
    exclusive = zip(ids("same_conversation"), ids(DRAWN[2]), ids(DRAWN[4]), strict=True)
    for rings in exclusive:
        assert all(not a & b for a, b in itertools.combinations(rings, 2))
    assert corpus.speakers.partner.shape == (corpus.n_turns,)


@pytest.mark.parametrize("spec", DRAWN)
@given(dialogues=corpora())
@settings(max_examples=20, deadline=None)
def test_a_moment_gets_the_same_alone_and_in_any_order(spec: str, dialogues: list[Dialogue]) -> None:
    proposer = parse_source(spec).over(corpus_of(dialogues))
    wanted = moments(dialogues)
    together = proposer.propose(wanted, 3, seed=7)
    assert proposer.propose(wanted[::-1], 3, seed=7)[::-1] == together
    assert [proposer.propose([moment], 3, seed=7)[0] for moment in wanted] == together


def large(split: str | None = "train") -> Corpus:
    """Three speakers in dialogues of two, with enough turns that draws are made by trying."""
    pairs = itertools.cycle([("Ann", "Bob"), ("Ann", "Cem"), ("Bob", "Cem")])
    made = []
    for number in range(60):
        two = next(pairs)
        turns = tuple(Turn(f"line {number} {place}", two[place % 2]) for place in range(10))
        made.append(Dialogue(f"d{number}", turns, "plays", split))
    return Corpus.of(made)


@pytest.mark.parametrize("spec", DRAWN)
def test_every_utterance_of_a_set_has_the_same_chance(spec: str) -> None:
    corpus = large()
    proposer = parse_source(spec).over(corpus)
    assert isinstance(proposer, SetProposer)
    pool = len(proposer.propose([Moment("d0", 5)], 1000)[0])
    times = 40 * pool
    drawn = corpus.speakers.sample(proposer.of, np.full(times, 5), 1, draw_keys(np.arange(times), 0))
    counts = np.bincount(drawn[:, 0], minlength=corpus.n_turns)
    chi_square = float(((counts[counts > 0] - 40.0) ** 2 / 40).sum())
    assert np.count_nonzero(counts) == pool
    # Nothing here is left to luck; a chi-square of n - 1 degrees of freedom has this mean and this deviation.
    assert abs(chi_square - (pool - 1)) < 4 * np.sqrt(2 * max(1, pool - 1))


def test_large_pools_give_out_everything_they_have() -> None:
    corpus = large()
    for spec, size in {"same_speaker": 197, "same_partner": 97, "random": 398}.items():
        # Ann says 200 lines, of which 3 are up to the moment; d0 has 3 lines of Bob's before it.
        found = parse_source(spec).over(corpus).propose([Moment("d0", 4)], 1000)[0]
        assert len(found) == size


def test_the_partner_is_whoever_spoke_last_before() -> None:
    labels = ["Ann", "Bob", "Bob", "Cem", "Ann", "Ann", "Bob"]
    turns = tuple(Turn(f"t{i}", label) for i, label in enumerate(labels))
    alone = Dialogue("alone", (Turn("well", "Ann"), Turn("well well", "Ann")))
    corpus = Corpus.of([Dialogue("d", turns), alone])
    names = {int(code): label for code, label in zip(corpus.speaker, labels, strict=False)} | {NOBODY: "nobody"}
    found = [names[int(code)] for code in corpus.speakers.partner]
    assert found == ["Bob", "Ann", "Ann", "Bob", "Cem", "Cem", "Ann", "nobody", "nobody"]


def test_a_speaker_with_one_dialogue_has_the_smaller_set_again_or_nothing() -> None:
    turns = (Turn("one", "Ann"), Turn("two", "Bob"), Turn("three", "Ann"), Turn("four", "Bob"), Turn("five", "Ann"))
    corpus = Corpus.of([Dialogue("d", turns, "plays"), Dialogue("e", (Turn("x", "Cem"), Turn("y", "Dan")), "plays")])
    for spec in ("same_conversation", "same_partner", "same_speaker"):
        assert [c.text for c in parse_source(spec).over(corpus).propose([Moment("d", 2)], 5)[0]] == ["five"]
    for spec in ("same_partner(exclusive=True)", "same_speaker(exclusive=True)"):
        assert parse_source(spec).over(corpus).propose([Moment("d", 2)], 5) == [[]]


@pytest.mark.parametrize("label", ["A", "b", "2", "user", "USER", "agent_1", "Speaker 2", "speaker-a", "Woman"])
def test_a_role_is_known_by_its_name(label: str) -> None:
    assert is_role(label)


@pytest.mark.parametrize(
    "label", ["Ann", "m0/BIANCA", "u:USR252", "user_858", "me013", "Rachel Green", "agentur", "42"]
)
def test_a_name_is_no_role(label: str) -> None:
    assert not is_role(label)


def test_labels_last_or_not_as_one_says() -> None:
    turns = (Turn("one", "A"), Turn("two", "B"), Turn("three", "A"))
    dialogues = [Dialogue("d", turns), Dialogue("e", (Turn("four", "A"), Turn("five", "B")))]
    source = parse_source("same_speaker")
    for permanent, expected in (("auto", []), ("no", []), ("yes", ["five"])):
        corpus = Corpus.of(dialogues, permanent)  # type: ignore[arg-type]
        assert [c.text for c in source.over(corpus).propose([Moment("d", 1)], 5)[0]] == expected


def test_an_item_of_the_corpus_is_its_moment_without_its_references() -> None:
    corpus = large()
    context = tuple(Turn(corpus.text(t)) for t in range(4))
    whole = Item("i", context, (Reference("line 0 4"),), dialogue="d0")
    cut = Item("i", context[2:], (Reference("line 0 4"),), dialogue="d0", truncated=True)
    for spec in DRAWN:
        proposer = parse_source(spec).over(corpus)
        expected = proposer.propose([Moment("d0", 4)], 5)
        assert proposer.propose([whole], 5) == proposer.propose([cut], 5) == expected
    later = Item("j", context, (Reference("line 0 4"), Reference("LINE 0 6!")), dialogue="d0")
    assert [c.text for c in parse_source("same_conversation").over(corpus).propose([later], 5)[0]] == ["line 0 8"]


def test_an_item_from_elsewhere_has_random_candidates_only() -> None:
    corpus = large()
    item = Item("elsewhere", (Turn("line 1 1"), Turn("never said")), (Reference("Line 1 2"),), dialogue="unknown")
    found = parse_source("random").over(corpus).propose([item], 1000)[0]
    assert len(found) == corpus.n_turns - 2
    assert not {"line 1 1", "line 1 2"} & {c.text for c in found}
    assert parse_source("same_speaker").over(corpus).propose([item], 5) == [[]]
    assert isinstance(found[0], Candidate)


@pytest.mark.parametrize("spec", [*DRAWN])
def test_a_spec_is_read_back(spec: str) -> None:
    source = parse_source(spec)
    assert str(source) == spec
    assert parse_source(str(source)) == source
    assert hash(parse_source(str(source))) == hash(source)


@pytest.mark.parametrize("name", source_names())
def test_every_module_of_the_folder_is_one_source(name: str) -> None:
    cls = source_class(name)
    assert cls.__doc__
    assert cls.citation
    assert cls.__name__.lower() == name.replace("_", "")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("same_partnr", "no source is called 'same_partnr'; did you mean 'same_partner'"),
        ("same_partner(exclusiv=True)", "no parameter 'exclusiv'; did you mean 'exclusive'"),
        ("same_conversation(exclusive=True)", "same_conversation has no parameter 'exclusive'; it takes none"),
        ("same_partner(exclusive=1)", "same_partner: exclusive must be of type bool, not 1"),
        ("random(scope='all')", "random: scope must be one of 'corpus', 'split', not 'all'"),
        ("random(", "'random\\(' is not a source"),
    ],
)
def test_a_wrong_spec_is_told_in_one_sentence(spec: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        parse_source(spec)


def test_what_is_no_moment_is_told_in_one_sentence() -> None:
    proposer = parse_source("random").over(large())
    with pytest.raises(InputError, match="no dialogue 'd99x'; did you mean"):
        proposer.propose([Moment("d99x", 1)], 1)
    for turn in (0, 10, -1):
        with pytest.raises(InputError, match=f"dialogue 'd0' has no turn {turn} with a context; name one from 1 to 9"):
            proposer.propose([Moment("d0", turn)], 1)
    with pytest.raises(SpecError, match="k must be at least 1"):
        proposer.propose([Moment("d0", 1)], 0)


def test_a_corpus_needs_dialogues_with_ids_of_their_own() -> None:
    with pytest.raises(InputError, match="no dialogues"):
        Corpus.of([])
    one = Dialogue("d", (Turn("x", "Ann"),))
    with pytest.raises(InputError, match="two dialogues have the id 'd'"):
        Corpus.of([one, one])


def test_a_corpus_keeps_every_text() -> None:
    texts = ["plain", "Où ça ?", "日本語", "\ud800 lone", "a\nb"]
    corpus = Corpus.of([Dialogue("d", tuple(map(Turn, texts)), "c", "train")])
    assert corpus.texts(np.arange(5)) == texts
    assert corpus.names(np.array([3, 0])) == ["d/3", "d/0"]
    assert corpus.split(0) == "train"


@given(st.text())
def test_same_words_are_those_of_the_tokeniser(text: str) -> None:
    from rejoinder.text.tokens import tokenize

    words = " ".join(tokenize(text, "words")).replace("'", " ")
    if words.isascii() and re.fullmatch(r"[\x20-\x7e]*", text):
        assert normalise_text(text) == (" ".join(words.split()) or " ".join(text.lower().split()))
    assert normalise_text(normalise_text(text)) == normalise_text(text)


def test_saying_the_same_is_beyond_case_and_punctuation() -> None:
    assert normalise_text("Don’t!") == normalise_text("don't") == normalise_text("DON'T ...")
    assert normalise_text("...") != normalise_text("?")
    corpus = large()
    assert find_text_codes(corpus, ["LINE, 0 0!", "unheard"]).tolist() == [corpus.text_codes[0]]
    assert text_digest("Yes!") == text_digest("yes")


def test_the_example_of_the_docs_runs() -> None:
    page = Path(__file__).parent.parent / "docs" / "speakers.md"
    exec(re.findall(r"```python\n(.*?)\n```", page.read_text(), re.DOTALL)[0], {})


def test_keys_differ_by_seed_source_and_row() -> None:
    rows = np.arange(1000)
    keys = {tuple(draw_keys(rows, seed, salt).tolist()) for seed in range(3) for salt in range(3)}
    assert len(keys) == 9
    assert len(set(draw_keys(rows, 0).tolist())) == 1000


class Letters:
    """An encoder for tests: how often each letter stands in a text."""

    name, digest, dimensions, max_tokens = "letters", "0123456789abcdef", 26, 1000

    def encode(self, texts: Sequence[str], cut: str = "right") -> NDArray[np.float32]:
        counts = np.array([[text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts], np.float32)
        counts[:, 0] += 1e-3  # no text is without a direction
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rejoinder.models.encoder.factory.load_encoder", lambda name: Letters())


def told() -> list[Dialogue]:
    """Two splits with the same words, so that only the split keeps them apart."""
    lines = [
        "where is the station",
        "by the old river",
        "is it far",
        "a mile by the river",
        "thanks a lot",
        "no trouble",
    ]
    more = ["the river is wide here", "the station is shut", "Is it far?", "it rains", "who knows", "nobody does"]
    made = []
    for split in ("train", "test", None):
        for number, texts in enumerate((lines, more)):
            turns = tuple(Turn(text, "Ann" if i % 2 else "Bob") for i, text in enumerate(texts))
            made.append(Dialogue(f"{split}-{number}", turns, "plays", split))
    return made


@pytest.mark.parametrize(
    "spec",
    ["bm25", "bm25(query='last')", "bm25(query='reply')", "dense", "dense(query='reply')", "dense(query='last')"],
)
def test_what_is_retrieved_keeps_the_rules_of_every_source(spec: str, letters: None) -> None:
    dialogues = told()
    corpus = Corpus.of(dialogues)
    proposer = parse_source(spec).over(corpus)
    wanted = moments(dialogues)
    everything = proposer.propose(wanted, 50)
    assert any(everything)
    for moment, found in zip(wanted, everything, strict=True):
        home = next(d for d in dialogues if d.id == moment.dialogue)
        banned = {said(t.text) for t in home.turns[: moment.turn + 1]}
        for candidate in found:
            name, _, place = (candidate.id or "").rpartition("/")
            there = next(d for d in dialogues if d.id == name)
            assert there.split == home.split
            assert there is not home
            assert candidate.text == there.turns[int(place)].text
            assert candidate.source == spec
        texts = [said(c.text) for c in found]
        assert not banned & set(texts)
        assert len(set(texts)) == len(texts)
    assert [proposer.propose([moment], 2)[0] for moment in wanted] == [found[:2] for found in everything]
    assert parse_source(spec).over(Corpus.of(dialogues)).propose(wanted, 50) == everything  # from the cache


def test_retrieval_finds_what_shares_words(letters: None) -> None:
    corpus = Corpus.of(told())
    at = Moment("train-0", 1)
    assert parse_source("bm25(query='last')").over(corpus).propose([at], 1)[0][0].text == "the station is shut"
    assert parse_source("bm25(query='reply')").over(corpus).propose([at], 1)[0][0].text == "the river is wide here"
    item = Item("i", (Turn("what about the rains"),), (Reference("Who knows?"),))
    assert parse_source("bm25").over(corpus).propose([item], 1)[0][0].text == "it rains"
    assert [c.text for c in parse_source("bm25(query='reply')").over(corpus).propose([item], 5)[0]] == []
    assert parse_source("dense").over(corpus).propose([item], 3)[0]
    without = Item("j", (Turn("rains"),))
    assert parse_source("bm25(query='reply')").over(corpus).propose([without], 1) == [[]]
    with pytest.raises(SpecError, match="k must be at least 1"):
        parse_source("bm25").over(corpus).propose([at], 0)


def test_many_copies_do_not_hide_what_else_there_is() -> None:
    copies = [Dialogue(f"c{i}", (Turn("the river"), Turn(f"yes {i}")), "plays") for i in range(40)]
    other = Dialogue("other", (Turn("a river of words"), Turn("well")), "plays")
    corpus = Corpus.of([*copies, other])
    found = parse_source("bm25(query='last')").over(corpus).propose([Moment("c0", 1)], 1)[0]
    assert [c.text for c in found] == ["a river of words"]
