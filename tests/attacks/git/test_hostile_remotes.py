"""Attacks pushes and fetches: addresses that are programs, folders with hooks, and configuration that names helpers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.errors import Conflict
from bough.git.finish.remotes import find_remote, parse_remote
from bough.git.finish.transfer import fetch, push, remote_tip
from tests.support.repos import git, make_repo

PROGRAMS = {
    "core.sshCommand": "{program}",
    "core.gitProxy": "{program}",
    "core.askPass": "{program}",
    "core.hooksPath": "{folder}",
    "core.fsmonitor": "{program}",
    "core.alternateRefsCommand": "{program}",
    "credential.helper": "!{program}",
    "remote.origin.receivepack": "{program}",
    "remote.origin.uploadpack": "{program}",
    "remote.origin.vcs": "evil",
    "url.ext::{program}.insteadOf": "/",
    "url.ext::{program}.pushInsteadOf": "/",
    "uploadpack.packObjectsHook": "{program}",
    "gpg.program": "{program}",
    "push.gpgSign": "true",
}
HOOKS = ("pre-push", "pre-receive", "update", "post-receive", "post-update", "proc-receive", "reference-transaction")


class Attacked:
    """A repository and a bare remote, both written by an attacker. `mark` appears if one of their programs ran."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "ran"
        self.program = folder / "hooks" / "program"
        self.program.parent.mkdir()
        self.program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{self.mark}'\n")
        self.program.chmod(0o755)
        for name in HOOKS:
            (self.program.parent / name).symlink_to(self.program)
        self.repo = make_repo(folder / "repo")
        self.remote = folder / "remote.git"
        git(folder, "clone", "--quiet", "--bare", str(self.repo), str(self.remote))
        git(self.repo, "remote", "add", "origin", str(self.remote))
        self._poison(self.repo / ".git")
        self._poison(self.remote)

    def _poison(self, git_dir: Path) -> None:
        for name in HOOKS:
            (git_dir / "hooks" / name).symlink_to(self.program)
        words = {"program": str(self.program), "folder": str(self.program.parent)}
        for name, value in PROGRAMS.items():
            file = ("config", "--file", str(git_dir / "config"))
            git(git_dir.parent, *file, name.format(**words), value.format(**words))

    def ran(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""


async def test_a_push_to_a_hostile_folder_runs_nothing(tmp_path: Path) -> None:
    """F4, W3: A push and a fetch run no hook and no helper that the repository or the folder on the other side names,
    and still work."""
    attacked = Attacked(tmp_path)
    cwd = str(attacked.repo)
    sha = git(attacked.repo, "rev-parse", "HEAD").strip()
    remote = parse_remote("origin", str(attacked.remote), cwd)
    attacked.mark.unlink(missing_ok=True)
    await push(cwd, remote, "sent", sha, rewrite=False)
    assert await remote_tip(cwd, remote, "sent") == sha
    assert await fetch(cwd, remote, "sent") == sha
    assert attacked.ran() == ""


@pytest.mark.parametrize(
    "address",
    [
        "ext::sh -c 'touch ran'",
        "evil::address",
        "fd::3",
        "ssh://-oProxyCommand=touch ran/path",
        "-oProxyCommand=touch:path",
        "http://example.invalid/path",
        "git://example.invalid/path",
        "ftp://example.invalid/path",
        "file://host/path",
        "https:///path",
        "https://[/path",
        "a\nb:path",
    ],
)
async def test_an_address_that_names_a_program_is_refused(tmp_path: Path, address: str) -> None:
    """F4: Only https, ssh and folders are used; addresses that could name a program or an option are refused."""
    repo = make_repo(tmp_path / "repo")
    git(repo, "config", "remote.origin.url", address)
    with pytest.raises(Conflict) as refused:
        await find_remote(str(repo), "main")
    assert refused.value.code == "remote_blocked"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("address", "protocol", "host", "project"),
    [
        ("git@github.com:owner/name.git", "ssh", "github.com", "owner/name"),
        ("ssh://git@example.invalid:2222/group/sub/name.git", "ssh", "example.invalid", "group/sub/name"),
        ("https://user:secret@example.invalid:8443/owner/name", "https", "example.invalid:8443", "owner/name"),
        ("/srv/git/name.git", "file", None, None),
        ("../name.git", "file", None, None),
        ("file:///srv/git/name.git", "file", None, None),
    ],
)
def test_addresses_of_remotes(address: str, protocol: str, host: str | None, project: str | None) -> None:
    """F4: Addresses are understood as git does, and shown without a password."""
    remote = parse_remote("origin", address, "/srv/work/repo")
    assert (remote.protocol, remote.host, remote.project) == (protocol, host, project)
    assert "secret" not in remote.shown
