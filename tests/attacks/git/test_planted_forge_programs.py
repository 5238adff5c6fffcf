"""Attacks pull requests: programs called gh and glab that an agent leaves in its folder, and remotes that lead
tokens to the attacker's server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bough.git.finish.forge_programs import ForgeFailed, find_open
from bough.git.finish.forges import Forge, find_forge
from bough.git.finish.remotes import parse_remote
from bough.search_path import safe_entries
from tests.api.worktree_helpers import commit
from tests.attacks.git.test_planted_programs import plant
from tests.core.finish.forge_stub import forge_stub, on_forge
from tests.support.server import Running

TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "OAUTH_TOKEN")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the stand-ins count as the person's own programs, although somebody may have left a `.git` above them."""
    monkeypatch.setenv("HOME", str(tmp_path))
    safe_entries.cache_clear()


@pytest.mark.parametrize("entry", ["", ".", "{folder}", "{folder}/bin", "bin"])
async def test_a_planted_program_does_not_open_pull_requests(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """F6, W3: A gh in the worktree is not run, even if the server's PATH leads there and its folder is current; the
    person's own one is."""
    work, _ = await on_forge(server, monkeypatch)
    marks = [plant(folder, name) for name in ("gh", "git") for folder in (work.folder, work.folder / "bin")]
    stub = forge_stub(tmp_path / "forge", monkeypatch)
    monkeypatch.setenv("PATH", f"{entry.format(folder=work.folder)}:{os.environ['PATH']}")
    monkeypatch.chdir(work.folder)
    commit(work.folder, "one.txt")
    for mark in marks:
        # The test's own git, above, is whatever PATH says.
        mark.unlink(missing_ok=True)
    done = await work.do("pull-request", title="Mine")
    assert done["pullRequest"]["url"] == "https://github.com/pull/1"
    assert not any(mark.exists() for mark in marks)
    assert all(str(work.folder) not in call["env"]["PATH"] for call in stub.calls(of_api=False))


@pytest.mark.parametrize("host", ["github.evil.invalid", "gitlab.evil.invalid", "github.com.evil.invalid"])
async def test_a_foreign_server_gets_no_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """F6: A remote that an agent points elsewhere is not asked, and no token in a variable reaches a program for it."""
    stub = forge_stub(tmp_path / "forge", monkeypatch)
    for name in TOKENS:
        monkeypatch.setenv(name, "secret")
    forge = find_forge(parse_remote("origin", f"https://{host}/o/n.git", str(tmp_path)))
    assert forge is not None
    with pytest.raises(ForgeFailed, match="not logged in"):
        await find_open(forge, "main")
    assert stub.calls() == []
    assert not any(set(TOKENS) & set(call["env"]) for call in stub.calls(of_api=False))
    # A host that the person named gets them.
    monkeypatch.setenv("GH_HOST", host)
    monkeypatch.setenv("GITLAB_HOST", f"https://{host}")
    stub.set(hosts=[host])
    assert await find_open(forge, "main") is None
    assert set(TOKENS) <= set(stub.calls()[0]["env"])


async def test_a_hostile_answer_is_no_pull_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F6: An answer with an address that is no page, or of another form, is refused."""
    stub = forge_stub(tmp_path / "forge", monkeypatch)
    forge = Forge("github", "github.com", "o/n")
    item = '{"head": "main", "number": 1, "title": "t", "body": null, "base": {"ref": "main"}, "html_url": "%s"}'
    for text in (item % "javascript:alert(1)", '{"head": "main"}', '{"head": "main", "number": "1"}'):
        (stub.folder / "requests.json").write_text(f"[{text}]")
        with pytest.raises(ForgeFailed):
            await find_open(forge, "main")
