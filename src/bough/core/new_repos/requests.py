"""Requests to clone a repository, and the checks of its address and target."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from bough.core.worktrees.allowed_paths import free_inside, resolve_inside
from bough.core.worktrees.repos import checked_name
from bough.errors import Denied, Invalid
from bough.git.clone import folder_name, parse_address
from bough.git.finish.remotes import Remote
from bough.model.session import Caller
from bough.settings import Settings

LONGEST_ADDRESS = 2000


class NewClone(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A repository to clone and register.

    - `address`: an https or ssh address, or a folder on the machine where Bough runs.
    - `path`: where it goes, inside the workspace root, where nothing exists yet; a relative path is below the root.
      Without it, the repository's own name in the root.
    - `name`: the name to register it under; by default that of its folder."""

    address: str
    path: str | None = None
    name: str | None = None
    idempotency_key: str | None = None


class PlannedClone(msgspec.Struct, frozen=True):
    """A checked request."""

    remote: Remote
    address: str
    target: str
    name: str | None


def check_request(caller: Caller, new: NewClone, settings: Settings) -> PlannedClone:
    """Checks who asks, from where, and where the clone goes."""
    if caller.kind == "session":
        raise Denied("clone_for_people", "Only a person may clone a repository: git uses that person's logins.")
    caller.require("operator", "clone a repository")
    name = checked_name(new.name) if new.name is not None else None
    root = settings.root_path
    if not new.address.strip() or len(new.address) > LONGEST_ADDRESS:
        raise Invalid("bad_address", f"An address must have between 1 and {LONGEST_ADDRESS} characters.")
    remote = parse_address(new.address, os.path.realpath(root))
    check_source(caller, remote, settings)
    chosen = new.path or folder_name(remote)
    if chosen is None:
        raise Invalid("bad_path", "The address names no folder. Choose one for the clone.")
    target = free_inside(root, root, chosen, data=settings.data_path)
    if ".git" in target.parts:
        raise Invalid("bad_path", f"{target} is inside a repository's git data. Choose another path.")
    if not target.parent.is_dir():
        raise Invalid("path_missing", f"There is no folder {target.parent}. Create it first.")
    return PlannedClone(remote, new.address.strip(), str(target), name)


def check_source(caller: Caller, remote: Remote, settings: Settings) -> None:
    """Refuses folders that the caller could not register either: only admins clone from outside the workspace root, and
    nobody from Bough's data folder."""
    if remote.protocol != "file":
        return
    outermost = settings.root_path if not caller.may("admin") else Path("/")
    resolve_inside(outermost, remote.address, data=settings.data_path, noun="folder")
