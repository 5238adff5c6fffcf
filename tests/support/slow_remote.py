"""A remote repository behind a stand-in for ssh that stops in the middle of a transfer until a test lets it go on. It
is the person's own setting (`core.sshCommand`), as somebody's jump host would be."""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.repos import git, make_repo

_SSH = """\
#!{python}
import os, pathlib, subprocess, sys, time
if any("nobody@" in word for word in sys.argv):
    sys.exit("Permission denied (publickey).")
folder = pathlib.Path({folder!r})
work = subprocess.Popen(["sh", "-c", sys.argv[-1]], stdout=subprocess.PIPE)
sent = 0
while chunk := os.read(work.stdout.fileno(), 16384):
    while sent > {first} and not (folder / "go").exists():
        (folder / "stopped").touch()
        time.sleep(0.05)
    os.write(1, chunk)
    sent += len(chunk)
"""
# Received before the transfer stops: enough for git to say how far it is.
FIRST = 600_000
SIZE = 2_000_000


@dataclass
class SlowRemote:
    """Its address, and the folder whose files steer it."""

    source: Path
    folder: Path

    @property
    def address(self) -> str:
        return f"git@example.invalid:{self.source}"

    def is_stopped(self) -> bool:
        """Tells whether a transfer waits in the middle."""
        return (self.folder / "stopped").exists()

    def go_on(self) -> None:
        (self.folder / "go").touch()


def slow_remote(folder: Path) -> SlowRemote:
    """Creates the repository, the stand-in and a home folder whose settings name it: `folder/home`."""
    source = make_repo(folder / "far" / "atlas")
    noise = random.Random(7)
    for number in range(20):
        (source / f"{number}.bin").write_bytes(noise.randbytes(SIZE // 20))
    git(source, "add", ".")
    git(source, "commit", "--quiet", "--message", "Add data.")
    ssh = folder / "ssh"
    ssh.write_text(_SSH.format(first=FIRST, folder=str(folder), python=sys.executable), "utf-8")
    ssh.chmod(0o755)
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tsshCommand = {ssh}\n[ssh]\n\tvariant = simple\n", "utf-8")
    return SlowRemote(source, folder)


def processes_in(folder: Path) -> list[int]:
    """Returns the processes that work in a folder or below it."""
    pids: list[int] = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            cwd = os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        if cwd.startswith(str(folder)):
            pids.append(int(name))
    return pids
