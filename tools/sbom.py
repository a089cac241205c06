"""A software bill of materials in CycloneDX's JSON: the installed libraries and the weights in the package.

``python -m tools.sbom FILE`` writes it (``make sbom``). The same installation gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

import rejoinder
from rejoinder.files import sha256_of, write_json
from rejoinder.models.weight_sets import WEIGHTS
from tools.licences import Component, list_components

_SPDX = re.compile(r"[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.+-]+)?")


def make_sbom() -> dict[str, Any]:
    """The bill: rejoinder, every installed library of it, and its weights."""
    libraries = [component for component in list_components() if component.version]
    weights = [_weights_object(folder) for folder in sorted(WEIGHTS.iterdir()) if folder.is_dir()]
    components = [*map(_library_object, libraries), *weights]
    root = {
        "type": "library",
        "bom-ref": _purl("rejoinder", rejoinder.__version__),
        "name": "rejoinder",
        "version": rejoinder.__version__,
        "licenses": [{"expression": "Apache-2.0"}],
        "purl": _purl("rejoinder", rejoinder.__version__),
    }
    content = json.dumps([root, components], sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": _list_dependencies(str(root["bom-ref"]), libraries, weights),
    }


def _library_object(component: Component) -> dict[str, Any]:
    purl = _purl(component.name, component.version)
    return {
        "type": "library",
        "bom-ref": purl,
        "name": component.name,
        "version": component.version,
        "scope": "required" if "base" in component.needed_by else "optional",
        "licenses": [_licence_object(component.licence)],
        "purl": purl,
    }


def _weights_object(folder: Path) -> dict[str, Any]:
    """A folder of weights, with the licence of its card and the digest of each file."""
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    licence = next(str(card["about"]["licence"]) for card in cards if "licence" in card.get("about", {}))
    files = [
        {"type": "file", "name": path.name, "hashes": [{"alg": "SHA-256", "content": sha256_of(path)}]}
        for path in sorted(folder.iterdir())
        if path.is_file()
    ]
    return {
        "type": "machine-learning-model",
        "bom-ref": f"weights/{folder.name}",
        "name": folder.name,
        "licenses": [_licence_object(licence)],
        "components": files,
    }


def _licence_object(licence: str) -> dict[str, Any]:
    """An SPDX expression where it is one, else the name that the library gives it."""
    parts = re.split(r" (?:AND|OR) ", licence.replace("(", "").replace(")", ""))
    if all(_SPDX.fullmatch(part) for part in parts):
        return {"expression": licence}
    return {"license": {"name": licence}}


def _list_dependencies(root: str, libraries: list[Component], weights: list[dict[str, Any]]) -> list[dict[str, Any]]:
    refs = {component.name: _purl(component.name, component.version) for component in libraries}
    of_root = sorted([*refs.values(), *(str(one["bom-ref"]) for one in weights)])
    inner = [
        {"ref": refs[component.name], "dependsOn": [refs[name] for name in component.requires if name in refs]}
        for component in libraries
    ]
    return [{"ref": root, "dependsOn": of_root}, *inner]


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version.replace('+', '%2B')}"


def main() -> None:
    """Write the bill to the file that is named."""
    write_json(Path(sys.argv[1]), make_sbom())


if __name__ == "__main__":
    main()
