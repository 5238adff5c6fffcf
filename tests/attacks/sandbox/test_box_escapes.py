"""One hostile agent in every mode and profile: it asks nobody, and tries every way out of its box that it knows."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bough.model.agents.sandbox import SandboxProfile
from bough.model.session import MODES
from tests.attacks.sandbox.box_agents import available, make_home, needs_sandbox
from tests.attacks.sandbox.escaping import SECRET
from tests.core.helpers import add_agent
from tests.support.repos import make_repo
from tests.support.server import Running, serving

# Of the git folder: what sets what git runs, what belongs to others, and what Bough keeps.
GIT = ("config", "config.worktree", "hooks", "info", "modules", "worktrees", "refs/bough", "objects/info")


@contextmanager
def elsewhere() -> Generator[int]:
    """Runs a process that no agent may reach, which knows the secret."""
    process = subprocess.Popen(("sleep", "1000"), env={"KEY": SECRET.decode()})
    try:
        yield process.pid
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def places(server: Running, home: Path) -> list[Path]:
    """Returns what no agent may change."""
    repo, others = server.root / "repo", server.root / "others"
    files = (home, home / ".bashrc", home / ".gitconfig", home / ".ssh", server.data, others, others / "README.md")
    return [*files, *(path for name in GIT if (path := repo / ".git" / name).exists())]


def state(path: Path) -> object:
    """Returns what an attack would change about a place: Bough itself changes only what is in some folders."""
    info = os.lstat(path)
    names = [name for name in os.listdir(path) if "evil" in name] if path.is_dir() else path.read_bytes()
    return stat.filemode(info.st_mode), info.st_mtime != 0, names, os.listxattr(path), list(path.parent.glob("*evil*"))


@needs_sandbox
@pytest.mark.timeout(600)
@pytest.mark.parametrize("worktree", [False, True], ids=["repository", "worktree"])
@pytest.mark.parametrize("profile", ["workspace", "strict"])
async def test_no_way_out(tmp_path: Path, profile: SandboxProfile, worktree: bool) -> None:
    """S6: In no mode and profile does an agent that asks nobody read a secret, change what is closed, or reach another
    process, a service or a device."""
    if profile == "strict" and available.network_reason:
        pytest.skip(available.network_reason)
    add_agent(tmp_path, "escaping", ["{python}", "-m", "tests.attacks.sandbox.escaping", str(tmp_path / "work/wanted")])
    async with serving(tmp_path, sandbox="auto", sandbox_profile=profile, max_sessions=len(MODES)) as server:
        home = make_home(tmp_path / "home")
        (home / ".bashrc").write_text("mine\n")
        secrets = [home / ".ssh" / "id_ed25519", home / ".netrc", home / ".aws" / "credentials", server.data / "kept"]
        for file in secrets:
            file.write_bytes(SECRET)
        make_repo(server.root / "others")
        repo = (await server.client.repo(server.repo()))["id"]
        with elsewhere() as process:
            targets = {
                "secrets": [*map(str, secrets), f"/proc/{process}/environ"],
                "closed": [],
                "services": [urlsplit(server.url).port],
                "outside": process,
            }
            for mode in MODES:
                fields = {"worktree": {"branch": f"topic-{mode}"}} if worktree else {}
                session = await server.client.session(
                    repo, agent="escaping", permissionMode=mode, env={"HOME": str(home)}, **fields
                )
                closed = places(server, home)
                if mode == "plan" or worktree:
                    closed.append(Path(session["cwd"]) if mode == "plan" else server.root / "repo")
                (server.root / "wanted").write_text(json.dumps(targets | {"closed": [*map(str, closed)]}))
                before = {path: state(path) for path in closed}
                assert (await server.client.ask(session["id"], "go"))["status"] == "completed"
                assert (await server.client.texts(session["id"])) == ["{}"], mode
                assert {path: state(path) for path in closed} == before, mode
                confinement = (await server.client.get(f"/api/sessions/{session['id']}"))["confinement"]
                assert confinement == (
                    ("read-only" if profile == "workspace" else "strict-read-only") if mode == "plan" else profile
                )
