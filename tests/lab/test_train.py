"""``rejoinder_lab.train``: what is refused before anything is read or loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rejoinder_lab

from rejoinder.errors import InputError, SpecError


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("idkk", {}, "no model is called 'idkk'; did you mean 'idk'?"),
        ("idk", {"resume": True}, "training idk has no option 'resume'; known: none"),
        ("ssrem", {"vocabulary": "other"}, "training ssrem has no option 'vocabulary'; known: reference, resume"),
        ("ssrem", {"resum": True}, "training ssrem has no option 'resum'; did you mean 'resume'?"),
    ],
)
def test_a_model_or_an_option_that_is_not_known_is_an_error(
    model: Any, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError) as error:
        rejoinder_lab.train(model, (), tmp_path / "new", **options)
    assert str(error.value) == message


def test_a_folder_must_be_named_and_be_new(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no folder to write is named; name one \(output\)"):
        rejoinder_lab.train("idk")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"already exists and is not empty; name a new folder$"):
        rejoinder_lab.train("idk", (), tmp_path)
    with pytest.raises(InputError, match=r"name a new folder, or set resume to continue there$"):
        rejoinder_lab.train("ruber", (), tmp_path)
