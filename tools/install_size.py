"""How much disk the base install takes, library by library; ``make size`` fails above the limit.

``python -m tools.install_size [WHEEL]`` installs the wheel of rejoinder into an environment of its own, by the
constraints. What counts is every file that pip puts there, byte code included, except rejoinder's own weights; pip and
setuptools, which come with an environment, do not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from rejoinder.table import Cell, Table, to_terminal

ROOT = Path(__file__).parent.parent
CONSTRAINTS = ROOT / "constraints.txt"
LIMIT = 350  # megabytes
_NOT_COUNTED = frozenset({"pip", "setuptools"})
_WEIGHTS = ("rejoinder", "models", "weights")


def measure(distributions: Iterable[metadata.Distribution]) -> dict[str, int]:
    """The bytes of each library's files, and of rejoinder's without its weights; the largest first."""
    sizes = {one.metadata["Name"].lower(): _count_bytes(one) for one in distributions}
    counted = {name: size for name, size in sizes.items() if name not in _NOT_COUNTED}
    return dict(sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])))


def _count_bytes(distribution: metadata.Distribution) -> int:
    files = [file for file in distribution.files or [] if file.parts[: len(_WEIGHTS)] != _WEIGHTS]
    paths = [Path(str(distribution.locate_file(file))) for file in files]
    return sum(path.stat().st_size for path in paths if path.is_file())


def size_table(sizes: dict[str, int]) -> Table:
    """The libraries in megabytes, and their sum."""
    rows: list[list[Cell]] = [[name, size / 1e6] for name, size in [*sizes.items(), ("all", sum(sizes.values()))]]
    return Table(f"The base install (at most {LIMIT} MB)", ["library", "MB"], rows, decimals=1)


def install(wheel: Path, folder: Path) -> list[metadata.Distribution]:
    """What is in a new environment after pip installed the wheel."""
    venv.create(folder, with_pip=True)
    python = next(path for path in (folder / "bin" / "python", folder / "Scripts" / "python.exe") if path.exists())
    # Isolated: a PYTHONPATH with rejoinder in it would make pip believe that it is installed.
    command = [str(python), "-I", "-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), str(wheel)]
    subprocess.run(command, check=True)
    return list(metadata.distributions(path=[str(path) for path in folder.glob("[Ll]ib/**/site-packages")]))


def main() -> int:
    """Print the table; 1 if the limit is passed."""
    wheels = sorted((ROOT / "dist").glob("rejoinder-*.whl"))
    wheel = Path(sys.argv[1]) if len(sys.argv) > 1 else wheels[-1]
    with tempfile.TemporaryDirectory() as folder:
        sizes = measure(install(wheel, Path(folder)))
    print(to_terminal(size_table(sizes)))
    return int(sum(sizes.values()) > LIMIT * 1e6)


if __name__ == "__main__":
    sys.exit(main())
