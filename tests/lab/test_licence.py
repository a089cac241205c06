"""Licences: of trained weights, of libraries and models, and the bill of materials that lists them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from rejoinder_lab.training.licence import LICENCES, PERMISSIVE, weights_licence

from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.reports.installation import EXTRAS
from tools.licences import list_components, read_licence
from tools.sbom import make_sbom

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_licence_of_weights_follows_from_the_corpora() -> None:
    assert weights_licence(PERMISSIVE) == "CC-BY-SA-4.0"
    assert weights_licence(["sgd", "dailydialog"]) == weights_licence(LICENCES) == "CC-BY-NC-SA-4.0"
    assert weights_licence(["sgd", "my chats"]) == "not known"
    assert weights_licence(name for name in ("sgd", "dailydialog")) == "CC-BY-NC-SA-4.0"


def test_licences_can_be_read_without_torch() -> None:
    program = "import sys, rejoinder_lab.training.licence; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_every_library_of_the_project_is_on_the_licences_page() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *(one for name in EXTRAS for one in extras[name])]
    names = {re.match(r"[\w-]+", line)[0] for line in declared} - {"rejoinder"}  # type: ignore[index]
    for name in names:
        assert f"| {name} | {read_licence(name)} |" in PAGE, f"{name} is missing on docs/licences.md; run: make docs"


def test_no_library_of_the_base_install_is_without_a_licence() -> None:
    base = [component for component in list_components() if "base" in component.needed_by]
    pinned = re.findall(r"^([\w-]+)==", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(pinned) <= {component.name for component in base}
    for component in base:
        if component.version:  # what other platforms need is not installed
            assert component.licence not in ("", "see its own files", "not installed"), component.name
            assert "GPL" not in component.licence


def test_every_weight_and_every_model_is_on_the_licences_page() -> None:
    for folder in (path for path in WEIGHTS.iterdir() if path.is_dir()):
        assert re.search(rf"weights of .*`{folder.name}`", PAGE), folder.name
        assert f"weights/{folder.name}/" in PAGE
    for model in MODELS.values():
        assert f"| {model.name} | {model.licence} |" in PAGE, "run: make docs"


def test_the_bill_of_materials_has_libraries_and_weights_with_licences() -> None:
    bill = make_sbom()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    by_name = {component["name"]: component for component in bill["components"]}
    assert by_name["numpy"]["purl"].startswith("pkg:pypi/numpy@")
    assert by_name["numpy"]["scope"] == "required"
    assert by_name["aptness"]["type"] == "machine-learning-model"
    assert by_name["aptness"]["licenses"] == [{"expression": "CC-BY-SA-4.0"}]
    assert all(component["licenses"] for component in bill["components"])
    refs = {component["bom-ref"] for component in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert len(refs) == len(bill["components"]) + 1
    for entry in bill["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= refs
    assert make_sbom() == bill
