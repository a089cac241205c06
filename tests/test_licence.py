"""The licences of trained weights."""

from __future__ import annotations

import subprocess
import sys

from rejoinder.training.licence import LICENCES, PERMISSIVE, weights_licence


def test_the_licence_of_weights_follows_from_the_corpora() -> None:
    assert weights_licence(PERMISSIVE) == "CC-BY-SA-4.0"
    assert weights_licence(["sgd", "dailydialog"]) == weights_licence(LICENCES) == "CC-BY-NC-SA-4.0"
    assert weights_licence(["sgd", "my chats"]) == "not known"
    assert weights_licence(name for name in ("sgd", "dailydialog")) == "CC-BY-NC-SA-4.0"


def test_licences_can_be_read_without_torch() -> None:
    program = "import sys, rejoinder.training.licence; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
