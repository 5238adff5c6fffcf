"""Tests `bough agents install` with the real npm and a local registry."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import socket
import sys
import tarfile
import threading
import time
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bough.agents import install
from tests.api.cli.cli_program import run_here

needs_npm = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


class Registry(ThreadingHTTPServer):
    """A registry with one package: the demo agent under another name."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[str] = []
        self.pack(">=4")

    def pack(self, engine: str) -> None:
        """Builds the package for this version of node."""
        about: dict[str, Any] = {"name": "tiny-agent", "version": "1.2.3", "bin": {"tiny-agent": "run.sh"}}
        about["engines"] = {"node": engine}
        program = f"#!/bin/sh\nexec {sys.executable} -m bough.agents.demo\n"
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, text in (("package.json", json.dumps(about)), ("run.sh", program)):
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size, entry.mode = len(text), 0o755
                archive.addfile(entry, io.BytesIO(text.encode()))
        tarball = packed.getvalue()
        digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        dist = {"tarball": f"{self.url}/tiny-agent.tgz", "integrity": f"sha512-{digest}"}
        versions = {"1.2.3": {**about, "dist": dist}}
        known = {"name": "tiny-agent", "dist-tags": {"latest": "1.2.3"}, "versions": versions}
        self.files = {"/tiny-agent": json.dumps(known).encode(), "/tiny-agent.tgz": tarball}


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Registry)
        self.server.asked.append(self.path)
        body = self.server.files.get(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Registry]:
    """Yields a registry, with an agent in the catalog that is installed from it."""
    monkeypatch.setenv("BOUGH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "data" / "agents").mkdir(parents=True)
    (tmp_path / "data" / "agents" / "tiny.toml").write_text(
        'title = "Tiny"\ncommand = ["tiny-agent"]\n[package]\nnpm = "tiny-agent"\nversion = "1.2.3"\n'
    )
    with Registry() as server:
        monkeypatch.setenv("npm_config_registry", server.url)
        monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@needs_npm
def test_an_agent_is_installed_and_found(registry: Registry, tmp_path: Path) -> None:
    """O1, L4: npm installs the agent into the data folder, where it is found and works; a second install does
    nothing."""
    done = run_here(["agents", "install", "tiny"])
    folder = tmp_path / "data" / "npm" / "tiny"
    assert (done.code, done.out) == (0, f"Tiny 1.2.3 is installed, in {folder}.\n"), done.err
    assert done.err == "Tiny 1.2.3 (tiny-agent) …\nTest it: bough agents test tiny\n"
    assert "/tiny-agent.tgz" in registry.asked
    before = list(registry.asked)
    again = run_here(["agents", "install", "tiny", "tiny", "--json"])
    (installed,) = json.loads(again.out)["installed"]
    assert (again.code, installed["already"], installed["version"]) == (0, True, "1.2.3")
    assert registry.asked == before
    assert {path.name for path in folder.parent.iterdir()} == {"tiny", ".tiny.lock"}
    tried = run_here(["agents", "test", "tiny", "--cwd", str(tmp_path), "--json"])
    assert (tried.code, json.loads(tried.out)["version"]) == (0, "1.2.3")


@needs_npm
def test_a_damaged_installation_is_replaced(registry: Registry, tmp_path: Path) -> None:
    """O1: An installation of another version, or without its program, is replaced completely."""
    folder = tmp_path / "data" / "npm" / "tiny"
    (folder / "node_modules" / "tiny-agent").mkdir(parents=True)
    (folder / "node_modules" / "tiny-agent" / "package.json").write_text('{"version": "1.2.3"}')
    (folder / "old").write_text("")
    assert run_here(["agents", "install", "tiny"]).code == 0
    assert not (folder / "old").exists() and (folder / "node_modules" / ".bin" / "tiny-agent").exists()


@needs_npm
def test_errors_of_npm_are_passed_on(registry: Registry, tmp_path: Path) -> None:
    """L4: If npm fails, its own message is shown and nothing is left behind."""
    file = tmp_path / "data" / "agents" / "tiny.toml"
    file.write_text(file.read_text().replace("1.2.3", "9.9.9"))
    failed = run_here(["agents", "install", "tiny", "--json"])
    assert failed.code == 1 and json.loads(failed.out)["error"]["code"] == "install_failed"
    assert "npm could not install tiny-agent@9.9.9: " in failed.err and "ETARGET" in failed.err
    assert {path.name for path in (tmp_path / "data" / "npm").iterdir()} == {".tiny.lock"}


@needs_npm
def test_without_network_one_sentence_says_so(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """L4: If npm cannot reach its registry, that is said within seconds, although npm itself would try for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{port}")
    monkeypatch.delenv("npm_config_fetch_retries")
    began = time.monotonic()
    failed = run_here(["agents", "install", "tiny"])
    # Generous: npm alone takes seconds to start on a loaded machine.
    assert failed.code == 1 and time.monotonic() - began < 45
    assert "Tiny was not installed, because npm cannot reach its registry (ECONNREFUSED at " in failed.err
    assert len(failed.err.splitlines()) == 2
    assert {path.name for path in (tmp_path / "data" / "npm").iterdir()} == {".tiny.lock"}


@needs_npm
def test_a_silent_registry_is_given_up(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: A registry that accepts connections and never answers is given up after a few seconds."""
    monkeypatch.setattr(install, "REACH_WITHIN", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{listener.getsockname()[1]}")
        failed = run_here(["agents", "install", "tiny"])
    assert failed.code == 1 and "npm cannot reach its registry (" in failed.err


@needs_npm
def test_a_node_that_may_be_too_old(registry: Registry) -> None:
    """L4: A package that requires a newer node is installed, with a warning."""
    registry.pack(">=999.1")
    warned = run_here(["agents", "install", "tiny"])
    assert warned.code == 0
    assert "Tiny requires Node.js 999.1 or newer. With " in warned.err


def test_without_npm_or_with_an_old_node(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: Names what is missing and how to install it, and creates nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    missing = run_here(["agents", "install", "tiny"])
    assert missing.code == 1 and "npm was not found. Install Node.js 22 or newer" in missing.err
    for name in ("npm", "node"):
        (programs / name).write_text("#!/bin/sh\necho v12.22.1\n")
        (programs / name).chmod(0o755)
    old = run_here(["agents", "install", "tiny", "--json"])
    assert old.code == 1 and json.loads(old.out)["error"]["code"] == "old_node"
    assert f"{programs}{os.sep}node is version v12.22.1, which is too old." in old.err
    assert not (tmp_path / "data" / "npm").exists()


def test_agents_that_are_not_packages(registry: Registry, tmp_path: Path) -> None:
    """L4: If one of several names cannot be installed, none is."""
    ours = run_here(["agents", "install", "tiny", "demo"])
    assert (ours.code, ours.err) == (1, "Demo agent comes with Bough.\n")
    (tmp_path / "data" / "agents" / "mine.toml").write_text(
        'title = "Mine"\ncommand = ["mine"]\ninstall = "Ask a friend."'
    )
    assert run_here(["agents", "install", "mine"]).err == "Mine does not come as an npm package. Ask a friend.\n"
    assert run_here(["agents", "install", "nobody"]).code == 1
    assert run_here(["agents", "install"]).code == 2
    assert registry.asked == []
