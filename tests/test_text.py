from __future__ import annotations

from importlib import metadata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score.tokenize import tokenize as rouge_tokenize
from sacrebleu.metrics.bleu import BLEU

from rejoinder.text import tokens as text_module
from rejoinder.text.token_numbers import number_tokens
from rejoinder.text.tokens import TokenizerName, content_words, tokenize, tokenizer_details

SIGNS = st.text("aZé09 .,-!?&;\"'<>()_/:$\n\t\r\u3000\x1c\x85我…", max_size=30)
LINES = st.one_of(
    st.text(max_size=40),
    SIGNS,
    st.tuples(SIGNS, st.sampled_from(["<skipped>", "&quot;", "&amp;lt;", "-\n", "..", "3.5"]), SIGNS).map("".join),
)


@given(LINES, st.booleans())
@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@example("", True)
@example("<skip<skipped>ped>", True)
@example("end-\n", False)
@example("a-<skipped>\nb", False)
@example("a. .5 5. 1,000.50 ...,x", True)
def test_13a_gives_the_tokens_of_sacrebleu(line: str, lowercase: bool) -> None:
    expected = BLEU(lowercase=lowercase)._preprocess_segment(line).split()
    assert tokenize(line, "13a", lowercase) == tuple(expected)
    assert tokenize(line, "13a", lowercase) == tuple(expected)  # and again, now that its chunks are known


def test_13a_gives_the_same_tokens_when_its_memory_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_MAX_CHUNKS", 3)
    line = 'He said: "3.5% (or 4,5) of a/b", didn\'t he? ' * 3
    assert tokenize(line) == tuple(BLEU(lowercase=True)._preprocess_segment(line).split())


@given(LINES)
@settings(deadline=None, derandomize=True, database=None)
def test_rouge_gives_the_tokens_of_the_rouge_score_package(line: str) -> None:
    assert tokenize(line, "rouge") == tuple(rouge_tokenize(line, None))


@pytest.mark.parametrize("name", ["13a", "whitespace", "words", "rouge"])
@given(line=LINES)
@settings(deadline=None, derandomize=True, database=None)
def test_no_token_is_empty_or_holds_white_space(name: TokenizerName, line: str) -> None:
    tokens = tokenize(line, name)
    assert tuple(" ".join(tokens).split()) == tokens


def test_whitespace_leaves_the_text_as_it_is() -> None:
    assert tokenize(" Don't  stop ,\tnow. ", "whitespace", lowercase=False) == ("Don't", "stop", ",", "now.")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Don’t you know? It's well-known!", ["don't", "you", "know", "it's", "well", "known"]),
        ("snake_case 3 apples", ["snake", "case", "3", "apples"]),
        ("我爱你 and ラーメンです", ["我", "爱", "你", "and", "ラーメン", "で", "す"]),
        ("हिन्दी में बात", ["हिन्दी", "में", "बात"]),
        ("한국어를 합니다", ["한국어를", "합니다"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("cafe\u0301 👩\u200d👩\u200d👧 👍🏽", ["café"]),
        ("… !? 😀", []),
    ],
)
def test_words_are_found_in_many_scripts(line: str, words: list[str]) -> None:
    assert list(tokenize(line, "words")) == words


def test_content_words_leave_out_function_words_and_possessives() -> None:
    found = content_words("Well, I don't know what John's dog wants; it's THE dog, isn't it?")
    assert found == {"know", "john", "dog", "wants"}


def test_content_words_leave_out_the_endings_of_words_that_were_cut() -> None:
    assert content_words("i 'm sure you 'll know , do n't you ? that 's it") == {"sure", "know"}


def test_content_words_of_other_languages_are_all_words() -> None:
    assert content_words("D'accord, il fait beau") == {"d'accord", "il", "fait", "beau"}


def test_only_13a_depends_on_a_package() -> None:
    assert list(tokenizer_details("13a")) == ["sacrebleu"]
    assert tokenizer_details("words") == {}


def test_signatures_name_the_release_of_sacrebleu_that_is_compared_with() -> None:
    assert metadata.version("sacrebleu") == text_module.SACREBLEU


PIECES = "the cat sat, don't ''x 3.5 É É ΑΣ K ß 日本 カタ \0 a\0 a abcdefgh abcdefghi international \ud800 \x7f".split(
    " "
)
NUMBERED = st.lists(st.one_of(LINES, st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join)), max_size=6)


@given(NUMBERED, st.sampled_from(["13a", "whitespace", "words", "rouge"]), st.booleans())
@settings(max_examples=500, deadline=None, derandomize=True, database=None)
@example([], "13a", True)
@example([""], "13a", True)
@example(["a\0", "a", "\0", ""], "whitespace", True)
@example(["1,000.5 a.", "é .", ". a"], "13a", True)
def test_numbers_stand_for_the_tokens(texts: list[str], name: TokenizerName, lowercase: bool) -> None:
    tokens = [tokenize(text, name, lowercase) for text in texts]
    numbers, lengths = number_tokens(texts, name, lowercase)
    assert lengths.tolist() == [len(one) for one in tokens]
    flat = [token for one in tokens for token in one]
    assert len(flat) == len(numbers)
    assert len(set(zip(flat, numbers.tolist(), strict=True))) == len(set(flat)) == len(set(numbers.tolist()))


def test_words_that_want_the_same_slot_of_the_table_have_numbers_of_their_own() -> None:
    texts = [f"w{i} x{i % 50}" for i in range(5_000)]
    numbers = number_tokens(texts).numbers.tolist()
    assert len(set(numbers)) == 5_050
    assert all(0 <= number < 16 * len(numbers) for number in numbers)
