"""Reads a repository's remotes, and understands their addresses. Contacts nobody."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

import msgspec

from bough.errors import Conflict
from bough.git.decode import lines, shown
from bough.git.paths import real
from bough.git.run import GitFailed, git

# A name that git could take for an option or a path is no remote of ours.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SCP = re.compile(r"(?:[^@/:\s]+@)?([^@/:\s\[\]-][^@/:\s\[\]]*):(?!//)(.+)")
DEFAULT = "origin"


class Remote(msgspec.Struct, frozen=True):
    """A remote repository: its name here, its address for git, and how it is reached. `host` and `project` are set for
    addresses of a server."""

    name: str
    address: str
    protocol: str
    host: str | None = None
    project: str | None = None

    @property
    def shown(self) -> str:
        """Returns the address for people, without a password."""
        return without_login(self.address)


async def find_remote(path: str, branch: str | None, chosen: str | None = None, *, fetching: bool = False) -> Remote:
    """Returns the remote to send a branch to, or to fetch it from: the wanted one, the branch's own, `origin`, or the
    only one. Raises `Conflict` if there is none or its address is not one that Bough uses."""
    names = lines(await git(path, "remote"))
    if chosen is not None and chosen not in names:
        raise Conflict("no_remote", f"The repository has no remote {chosen!r}. It has: {', '.join(names) or 'none'}.")
    name = chosen or await _remote_of(path, branch, names) or (DEFAULT if DEFAULT in names else None)
    if name is None and len(names) == 1:
        name = names[0]
    if name is None:
        few = f"Name one of: {', '.join(names)}." if names else "Add one with `git remote add`."
        raise Conflict("no_remote", f"The repository has no remote called {DEFAULT}. {few}")
    if not _NAME.fullmatch(name):
        raise Conflict("remote_blocked", f"{shown(name)!r} is not a name of a remote that Bough uses.")
    # Git applies a person's own rules about addresses (url.*.insteadOf) when it is given this one.
    try:
        words = ("config", "-z", "--get-all")
        # Some people push elsewhere than they fetch from.
        addresses = [""] if fetching else (await git(path, *words, f"remote.{name}.pushurl", fine=(0, 1))).split("\0")
        if not addresses[0]:
            addresses = (await git(path, *words, f"remote.{name}.url")).split("\0")
    except GitFailed as error:
        raise Conflict("no_remote", f"The remote {name} has no address.") from error
    return parse_remote(name, addresses[0], path)


async def _remote_of(path: str, branch: str | None, names: list[str]) -> str | None:
    if branch is None:
        return None
    name = (await git(path, "config", "--get", f"branch.{branch}.remote", fine=(0, 1))).rstrip("\n")
    return name if name in names else None


def parse_remote(name: str, address: str, folder: str) -> Remote:
    """Parses an address. Raises `Conflict` unless it is https, ssh or a folder: other kinds can name a program."""
    if any(ord(character) < 32 for character in address) or address.startswith("-"):
        raise Conflict("remote_blocked", f"The address of the remote {name} has characters that no address has.")
    if "://" in address:
        return _parse_url(name, address)
    if "::" in address.partition("/")[0]:
        raise _blocked(name, address)
    match = _SCP.fullmatch(address)
    # Not a folder, even if one of that name exists: an agent could have created it.
    if match is not None:
        return Remote(name, address, "ssh", match[1].lower(), _project(match[2]))
    return Remote(name, real(os.path.join(folder, address)), "file")


def _parse_url(name: str, address: str) -> Remote:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _blocked(name, address) from None
    if parts.scheme == "file" and not host and parts.path.startswith("/"):
        return Remote(name, real(parts.path), "file")
    if (
        parts.scheme not in ("https", "ssh")
        or not host
        or host.startswith("-")
        or (parts.username or "").startswith("-")
    ):
        raise _blocked(name, address)
    # The port of ssh is not that of the server's pages.
    shown_host = f"{host}:{port}" if port and parts.scheme == "https" else host
    return Remote(name, address, parts.scheme, shown_host, _project(parts.path))


def _project(path: str) -> str | None:
    return path.strip("/").removesuffix(".git") or None


def _blocked(name: str, address: str) -> Conflict:
    return Conflict(
        "remote_blocked",
        f"The remote {name} has the address {without_login(shown(address))}. Bough uses https, ssh and folders only; "
        "push by hand.",
    )


def without_login(address: str) -> str:
    """Returns an address without the user and password of a URL."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
