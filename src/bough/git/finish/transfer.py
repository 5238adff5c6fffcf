"""Fetches and pushes for a person who asked for it, with nothing of the repository's configuration.

Git runs in an empty repository of our own that borrows the objects of the real one. So nothing is read that an agent
wrote into the configuration, before or meanwhile: helpers, proxies, rewritten addresses, hooks. The person's own
settings apply: their ssh, keys and credential helpers."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish.remotes import Remote, without_login
from bough.git.paths import read_start
from bough.git.run import GitFailed, git, git_over_network
from bough.git.safe import written_paths

# For sending or receiving a large repository over a slow line.
WITHIN = 600.0
# A shallow repository lists its edges in a file.
LONGEST_SHALLOW = 1024 * 1024
# What a folder that is pushed to would run, turned off: its hooks, its commands, and the update of its files.
_RECEIVER = {
    "core.hooksPath": "/dev/null",
    "core.alternateRefsCommand": "true",
    "core.fsmonitor": "false",
    "receive.autogc": "false",
    "receive.denyCurrentBranch": "refuse",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
# It fetches nothing either, on its own (a git that is too old to know the first variable heeds the second): the
# configuration of a partial clone can name a program for that.
_NO_FETCH = "GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none"
SENDER = {"core.alternateRefsCommand": "true", "core.fsmonitor": "false"}


class Pushed(msgspec.Struct, frozen=True):
    """A branch that was sent, and why that could not be noted here, if it could not."""

    sha: str
    not_noted: str | None = None


async def remote_tip(path: str, remote: Remote, branch: str) -> str | None:
    """Asks the remote for the commit of a branch."""
    ref = f"refs/heads/{branch}"
    async with _borrowed(path) as env:
        text = await _run(env, "ls-remote", *helper_option("upload-pack", remote, SENDER), remote.address, ref)
    entries = [line.partition("\t") for line in text.split("\n")]
    return next((sha for sha, _, name in entries if name == ref), None)


async def push(path: str, remote: Remote, branch: str, sha: str, replaces: str | None = None) -> Pushed:
    """Sends a commit as the tip of a branch. `replaces` is the tip that may be replaced by other commits, empty for a
    branch that must be new."""
    ref = f"refs/heads/{branch}"
    lease = (f"--force-with-lease={ref}:{replaces}",) if replaces is not None else ()
    options = ("--no-verify", "--no-recurse-submodules", "--no-signed", *lease)
    helper = helper_option("receive-pack", remote, _RECEIVER)
    async with _borrowed(path) as env:
        try:
            await _run(env, "push", *options, *helper, remote.address, f"{sha}:{ref}")
        except GitFailed as error:
            if "[rejected]" not in error.message and "stale info" not in error.message:
                raise
            raise Conflict(
                "push_rejected",
                f"{remote.name} has commits on {branch} that are not here. Update from it first, or push with rewrite "
                "to replace them (not if somebody else pushed since Bough last pushed or fetched).",
            ) from error
    try:
        await _track(path, remote, branch, sha)
    except GitFailed as error:
        # The remote has the commits: that is no failure of the push.
        return Pushed(sha, error.message)
    return Pushed(sha)


async def fetch(path: str, remote: Remote, branch: str) -> str:
    """Fetches one branch, points its tracking ref to it and returns its commit."""
    ref = f"refs/heads/{branch}"
    helper = helper_option("upload-pack", remote, SENDER)
    options = ("--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head", "--quiet")
    await asyncio.to_thread(_refuse_links, path)
    async with _borrowed(path) as env:
        try:
            await _run(env, "fetch", *options, *helper, remote.address, f"+{ref}:refs/bough/fetched")
        except GitFailed as error:
            if "couldn't find remote ref" not in error.message:
                raise
            raise Conflict("no_remote", f"{remote.name} has no branch {branch}.") from error
        sha = (await git(env["GIT_DIR"], "rev-parse", "refs/bough/fetched^{commit}", env=env)).strip()
    await _track(path, remote, branch, sha)
    return sha


def tracking_ref(remote: Remote, branch: str) -> str:
    """Returns the ref that holds what we know of a remote's branch."""
    return f"refs/remotes/{remote.name}/{branch}"


async def _track(path: str, remote: Remote, branch: str, sha: str) -> None:
    await git(path, "update-ref", "--no-deref", "-m", "bough", tracking_ref(remote, branch), sha)


def _refuse_links(path: str) -> None:
    """Raises `GitFailed` if objects would be written through a link, because this git is not kept inside its folder."""
    link = written_paths.link_out(path, "merge", {}, limited=False)
    if link is not None:
        raise GitFailed("git_failed", f"{link} is a link that leads out of the repository, so nothing was fetched.")


def helper_option(program: str, remote: Remote, settings: dict[str, str]) -> tuple[str, ...]:
    """Returns the option that keeps git in a folder that is the other side from running what that folder names."""
    if remote.protocol != "file":
        return ()
    words = " ".join(f"-c {name}={value}" for name, value in settings.items())
    return (f"--{program}={_NO_FETCH} git {words} {program}",)


@asynccontextmanager
async def _borrowed(path: str) -> AsyncGenerator[dict[str, str]]:
    """Yields the variables of an empty repository that uses the objects of the one at `path`."""
    words = ("rev-parse", "--path-format=absolute", "--git-path", "objects", "--git-path", "shallow")
    objects, shallow = (await git(path, *words)).rstrip("\n").split("\n")
    form = (await git(path, "rev-parse", "--show-object-format")).strip()
    with tempfile.TemporaryDirectory(prefix="bough-transfer-") as folder:
        await asyncio.to_thread(_write_repository, folder, form, shallow)
        yield {"GIT_DIR": folder, "GIT_OBJECT_DIRECTORY": objects}


def _write_repository(folder: str, form: str, shallow: str) -> None:
    for name in ("objects", "refs"):
        os.mkdir(os.path.join(folder, name))
    version, extra = (1, f"[extensions]\n\tobjectFormat = {form}\n") if form != "sha1" else (0, "")
    config = f"[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extra}"
    files = {"HEAD": "ref: refs/heads/none\n", "config": config}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    edges = read_start(shallow, LONGEST_SHALLOW)
    if edges:
        with open(os.path.join(folder, "shallow"), "wb") as file:
            file.write(edges)


async def _run(env: dict[str, str], *words: str) -> str:
    try:
        return await git_over_network(env["GIT_DIR"], *words, env=env, timeout=WITHIN)
    except GitFailed as error:
        raise GitFailed(error.code, without_logins(error.message)) from error


def without_logins(text: str) -> str:
    """Removes users and passwords from the addresses in git's messages."""
    return " ".join(without_login(word) if "://" in word else word for word in shown(text).split(" "))
