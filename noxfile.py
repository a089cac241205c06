"""Every supported Python: whether all libraries have wheels for it, and whether the tests pass (``make matrix``)."""

import os
import sys

import nox

PYTHONS = nox.project.python_versions(nox.project.load_toml("pyproject.toml"))
USERS = ("ann", "arrow", "crowd", "pandas", "polars", "postgres", "ray", "torch", "web", "xlsx")
# The oldest systems that the libraries still support.
SYSTEMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin", "windows")


@nox.session(python=False)
@nox.parametrize("python", PYTHONS)
def wheels(session: nox.Session, python: str) -> None:
    """Resolve the base install with all extras for users, from wheels only, for each system."""
    extras = [f"--extra={name}" for name in USERS]
    for system in SYSTEMS:
        asked = [f"--python-version={python}", f"--python-platform={system}", *extras]
        session.run(
            *(sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "-c", "constraints.txt"),
            *("--no-build", "--quiet", *asked, "-o", os.devnull),
            env={"MACOSX_DEPLOYMENT_TARGET": "14.0"},
        )


@nox.session(python=PYTHONS, venv_backend="venv")
def tests(session: nox.Session) -> None:
    """Run the tests with the extra that EXTRA names: dev, or test without torch and the large libraries."""
    extra = os.environ.get("EXTRA", "dev")
    session.install("-c", "constraints.txt", "-e", f".[{extra}]", "-e", "lab")
    session.run("python", "-m", "pytest", *session.posargs)
