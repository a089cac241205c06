"""Translation and back-translation, on tiny random models that the test makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import byte_pairs  # noqa: E402

from rejoinder.augmentation.paraphrase import BackTranslation, paraphrase  # noqa: E402
from rejoinder.errors import InputError, SpecError  # noqa: E402
from rejoinder.models.translation.model import Translator, open_translator  # noqa: E402

TEXTS = ["the cat sat on the mat", "yes", "the train leaves at nine", ""]


def write_translator(folder: Path, seed: int) -> Path:
    """A random sequence-to-sequence network of 2 layers as transformers saves it."""
    folder.mkdir(parents=True)
    core = byte_pairs(False)
    transformers.BartTokenizer(tokenizer_object=core, model_max_length=64).save_pretrained(folder)
    shape: dict[str, Any] = {"d_model": 32, "max_position_embeddings": 16, "init_std": 0.3}
    for side in ("encoder", "decoder"):
        shape |= {f"{side}_layers": 2, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 64}
    marks = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2}
    config = transformers.BartConfig(vocab_size=core.get_vocab_size(), **shape, **marks, forced_eos_token_id=None)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("translators")
    return write_translator(base / "there", 0), write_translator(base / "back", 1)


@pytest.fixture(scope="module")
def there(folders: tuple[Path, Path]) -> Translator:
    return open_translator(str(folders[0]))


def test_a_translation_depends_on_text_and_seed_and_not_on_the_batch(there: Translator) -> None:
    together = there.translate(TEXTS, 0.9, seed=3)
    assert together[3] == ""
    assert all(together[:3])
    assert [there.translate([text], 0.9, seed=3)[0] for text in TEXTS] == together
    assert there.translate(TEXTS[::-1], 0.9, seed=3)[::-1] == together
    assert there.translate(TEXTS, 0.9, seed=4) != together


def test_without_temperature_it_is_what_transformers_writes(there: Translator) -> None:
    (found,) = there.translate(TEXTS[:1], 0)
    given = there.tokenizer(TEXTS[0], return_tensors="pt")
    ids = there.network.generate(**given, max_new_tokens=15, min_new_tokens=1)
    assert found == " ".join(there.tokenizer.decode(ids[0], skip_special_tokens=True).split())


def test_a_long_text_loses_its_end(there: Translator) -> None:
    assert there.translate(["the cat " * 500], 0)[0]


def test_there_and_back_makes_paraphrases(folders: tuple[Path, Path]) -> None:
    method = BackTranslation(*map(str, folders), similarity=-1)
    found = paraphrase(TEXTS, method, count=2)
    assert found[3] == []
    for text, made in zip(TEXTS[:3], found, strict=False):
        assert len({one.text for one in made}) == len(made) <= 2
        assert all((one.source, one.origin) == ("paraphrase", text) and one.text != text for one in made)
    assert any(found)
    assert paraphrase(TEXTS[:1], method, count=2) == found[:1]


def test_a_round_trip_that_changes_the_meaning_is_left_out(folders: tuple[Path, Path]) -> None:
    method = BackTranslation(*map(str, folders), similarity=1.0)  # a network without training says anything
    assert not any(paraphrase(TEXTS[:2], method, count=2))


def test_weights_can_be_rounded_to_eight_bits(folders: tuple[Path, Path], there: Translator) -> None:
    rounded = open_translator(str(folders[0]), "int8")
    exact = dict(there.network.named_parameters())
    for name, weights in rounded.network.named_parameters():
        if weights.ndim == 2 and "positions" not in name:
            scales = exact[name].abs().amax(dim=1, keepdim=True).clamp(min=1e-30) / 127
            assert torch.allclose(weights, exact[name], rtol=0, atol=float(scales.max()) / 2 + 1e-7), name
            assert torch.allclose((weights / scales).round() * scales, weights, rtol=1e-5, atol=1e-8), name
        else:
            assert torch.equal(weights, exact[name]), name
    with pytest.raises(SpecError, match="precision"):
        BackTranslation(precision="int4")  # type: ignore[arg-type]


def test_a_model_that_is_not_here_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no translation model is called 'nobody/en-xx'"):
        open_translator("nobody/en-xx")
    with pytest.raises(InputError, match=r"has no config\.json"):
        open_translator(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no safetensors weights"):
        open_translator(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be opened as a translation model"):
        open_translator(str(tmp_path))
