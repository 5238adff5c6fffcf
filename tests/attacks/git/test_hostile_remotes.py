"""Attacks pushes and fetches: addresses that are programs, folders with hooks, and configuration that names helpers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.errors import Conflict
from bough.git.finish import transfer
from bough.git.finish.remotes import find_remote, parse_remote
from bough.git.finish.transfer import fetch, push, remote_tip
from bough.git.run import GitFailed
from tests.api.worktree_helpers import commit
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
    await push(cwd, remote, "sent", sha)
    assert await remote_tip(cwd, remote, "sent") == sha
    assert await fetch(cwd, remote, "sent") == sha
    assert attacked.ran() == ""


@pytest.mark.parametrize("by", ["git", "older git"])
async def test_a_folder_that_is_a_partial_clone_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """F4, W3: A folder that lacks an object which the pushed commits build on does not fetch it with a program that its
    configuration names, also with a git that cannot be told to leave out missing objects."""
    repo, remote, mark = make_repo(tmp_path / "repo"), tmp_path / "remote.git", tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}'\n")
    program.chmod(0o755)
    lines = [f"line {number}\n" for number in range(5000)]
    commit(repo, "large.txt", "".join(lines))
    blob = git(repo, "rev-parse", "HEAD:large.txt").strip()
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), str(remote))
    (remote / "objects" / blob[:2] / blob[2:]).unlink()
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": str(repo),
        "remote.evil.uploadpack": str(program),
    }
    for name, value in settings.items():
        git(tmp_path, "config", "--file", str(remote / "config"), name, value)
    sha = commit(repo, "large.txt", "".join([*lines, "one more\n"]))
    if by == "older git":
        # The variable that newer gits know has no effect.
        monkeypatch.setattr(transfer, "_NO_FETCH", "GIT_NO_LAZY_FETCH=0 GIT_ALLOW_PROTOCOL=none")
    with pytest.raises(GitFailed):
        await push(str(repo), parse_remote("origin", str(remote), str(repo)), "main", sha)
    assert not mark.exists(), mark.read_text()


def test_a_folder_does_not_take_the_place_of_a_server(tmp_path: Path) -> None:
    """F4: An address of a server stays one, although an agent created a folder of that name in its worktree."""
    address = "git@github.com:owner/name.git"
    (tmp_path / address).mkdir(parents=True)
    assert parse_remote("origin", address, str(tmp_path)).protocol == "ssh"


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
    remote = parse_remote("origin", address, "/srv/code/repo")
    assert (remote.protocol, remote.host, remote.project) == (protocol, host, project)
    assert "secret" not in remote.shown
