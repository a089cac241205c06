"""Static word vectors: a folder of two plain files, read without a pickle."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import InputError, SpecError
from rejoinder.models.catalog.manifest import ModelMissingError
from rejoinder.models.word_vectors.model import MappedVectors, load_word_vectors

REAL = Path(os.environ.get("REJOINDER_CACHE") or "nowhere") / "models" / "glove-6b-50d"


def folder_of(path: Path, words: str = "the\nof\nday\n", matrix: object = None) -> Path:
    path.mkdir(exist_ok=True)
    (path / "words.txt").write_text(words, encoding="utf-8")
    chosen = np.arange(6, dtype=np.float32).reshape(3, 2) if matrix is None else matrix
    np.save(path / "vectors.npy", chosen, allow_pickle=True)  # type: ignore[arg-type]
    return path


def test_a_word_has_its_row_and_an_unknown_one_has_zeros(tmp_path: Path) -> None:
    found = load_word_vectors(str(folder_of(tmp_path / "x")))
    vectors, known = found.vectors(["day", "night", "the", "day"])
    assert vectors.tolist() == [[4, 5], [0, 0], [0, 1], [4, 5]]
    assert vectors.dtype == np.float32
    assert known.tolist() == [True, False, True, True]
    assert ("day" in found, "night" in found) == (True, False)
    assert found.dimensions == 2
    empty, none = found.vectors([])
    assert empty.shape == (0, 2)
    assert none.shape == (0,)


def test_the_matrix_stays_on_disk(tmp_path: Path) -> None:
    assert isinstance(MappedVectors(folder_of(tmp_path / "x"), "x")._matrix, np.memmap)


def test_a_word_may_hold_any_character_but_a_line_feed(tmp_path: Path) -> None:
    words = "a\u2028b\nnb\u00a0sp\nc\x85d\n"
    found = load_word_vectors(str(folder_of(tmp_path / "x", words)))
    assert all(word in found for word in words.split("\n")[:3])


def test_words_and_numbers_decide_the_digest(tmp_path: Path) -> None:
    plain = load_word_vectors(str(folder_of(tmp_path / "a"))).digest
    assert load_word_vectors(str(folder_of(tmp_path / "b"))).digest == plain
    assert load_word_vectors(str(folder_of(tmp_path / "c", "the\nof\nnight\n"))).digest != plain
    other = np.ones((3, 2), np.float32)
    assert load_word_vectors(str(folder_of(tmp_path / "d", matrix=other))).digest != plain


@pytest.mark.parametrize(
    ("words", "matrix", "said"),
    [
        ("the\nof\n", None, "2 words for 3 vectors"),
        ("the\nof\nthe\n", None, r"words occur more than once \(1 extra\)"),
        ("the\nof\nday\n", np.array([{"a": 1}] * 3, dtype=object), "is not a matrix of numbers"),
        ("the\nof\nday\n", np.zeros((3, 2)), "must hold a float32 matrix, not float64"),
        ("the\nof\nday\n", np.zeros(3, np.float32), "float32 of 1 dimensions"),
    ],
)
def test_files_that_do_not_fit_are_told(tmp_path: Path, words: str, matrix: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_word_vectors(str(folder_of(tmp_path / "x", words, matrix)))


def test_files_that_are_missing_or_broken_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vectors\.npy: cannot be read"):
        load_word_vectors(str(tmp_path))
    folder_of(tmp_path)
    (tmp_path / "words.txt").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match="is not UTF-8"):
        load_word_vectors(str(tmp_path))
    (tmp_path / "vectors.npy").write_bytes(b"no numbers")
    with pytest.raises(InputError, match=r"vectors\.npy"):
        load_word_vectors(str(tmp_path))


def test_a_name_that_leads_nowhere_is_told() -> None:
    with pytest.raises(SpecError, match="did you mean 'glove-6b-50d'"):
        load_word_vectors("glove-6b")
    with pytest.raises(ModelMissingError, match="rejoinder models get glove-6b-50d"):
        load_word_vectors("glove-6b-50d")
    with pytest.raises(SpecError, match="of kind encoder, not word vectors; available: glove-6b-50d"):
        load_word_vectors("minilm")


@pytest.mark.skipif(not (REAL / "manifest.json").is_file(), reason="glove-6b-50d is not in the cache")
def test_glove_is_what_stanford_published() -> None:
    found = MappedVectors(REAL, "glove-6b-50d")
    assert len(found) == 400_000
    # The first line of glove.6B.50d.txt begins: the 0.418 0.24968 -0.41242 0.1217
    np.testing.assert_allclose(found.vectors(["the"])[0][0, :4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-7)
    (man, woman, king, queen), known = found.vectors(["man", "woman", "king", "queen"])
    assert known.all()
    analogy = king - man + woman
    assert analogy @ queen / np.linalg.norm(analogy) / np.linalg.norm(queen) > 0.8
