"""Checks folders of sessions: one must still be there, and only a person's explicit word puts a session where an agent
could reach git's or Bough's own files."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import structlog

from bough.agents.sandbox import git_layout
from bough.errors import Conflict, Denied
from bough.git.paths import is_folder
from bough.model.session import Caller, Session

log = structlog.get_logger("bough.worktrees")

_OF_A_REPOSITORY = ("HEAD", "objects", "refs")


def check_session_folder(caller: Caller, cwd: Path, data: Path, *, confirmed: bool) -> None:
    """Raises unless a session may work in a folder: `Denied` if a session confirms it for itself, `Conflict` if nobody
    has confirmed it."""
    if confirmed and caller.kind == "session":
        raise Denied("folder_for_people", "Only a person can confirm an unusual folder (confirmFolder).")
    reason = why_unusual(cwd, data)
    check_settings_folder(caller, cwd, data)
    if reason is not None and confirmed:
        caller.require("admin", "confirm an unusual folder (confirmFolder)")
    if reason is not None and not confirmed:
        raise Conflict(
            "folder_unconfirmed",
            f"{cwd} {reason} A person can confirm it: confirmFolder, or bough session new --confirm-folder.",
            path=str(cwd),
        )


def check_settings_folder(caller: Caller, cwd: Path, data: Path) -> None:
    """Raises `Denied` if a person who is no admin starts a session among the settings of programs, which run what is
    written there, outside of every sandbox."""
    if _holds_settings(cwd, data):
        caller.require("admin", f"start a session in {cwd}, which holds settings of programs")


def check_worktree_path(caller: Caller, path: Path, usual: Path, data: Path) -> None:
    """Raises `Denied` unless the caller may put a worktree at a real path: Bough itself writes its files, outside of
    every sandbox, and there they could be settings or commands of other programs. `usual` is the repo's folder of
    worktrees."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    repo = usual.parent
    if path.is_relative_to(usual) or (repo != home and path.is_relative_to(repo)):
        return
    if not _holds_settings(path, data) and not path.is_relative_to(home / "bin"):
        return
    if caller.kind == "session":
        raise Denied("folder_for_people", f"Only a person can create a worktree at {path}. Leave out its path.")
    caller.require("admin", f"create a worktree at {path}, where programs look for settings or commands")


def why_unusual(cwd: Path, data: Path) -> str | None:
    """Returns why a session should not work in a folder; None if it may."""
    data_folder = Path(os.path.realpath(data))
    if cwd in data_folder.parents:
        return f"contains Bough's data folder {data_folder}, so an agent there could reach Bough's tokens and settings."
    if ".git" in (part.casefold() for part in cwd.parts) or all((cwd / name).exists() for name in _OF_A_REPOSITORY):
        return "belongs to git: whoever writes there decides which programs git runs."
    return None


def _holds_settings(cwd: Path, data: Path) -> bool:
    """Returns whether a folder is the home folder, or in one of its hidden folders but not in Bough's own."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    if cwd == home:
        return True
    if not cwd.is_relative_to(home) or cwd.is_relative_to(os.path.realpath(data)):
        return False
    return cwd.relative_to(home).parts[0].startswith(".")


def folder_warnings(cwd: Path) -> list[str]:
    """Returns what a person should know about a session's folder."""
    if cwd == Path(os.path.realpath(os.path.expanduser("~"))):
        return [f"{cwd} is your home folder: the agent sees everything in it. A project's folder is safer."]
    return []


def require_folder(cwd: str) -> None:
    """Raises `Conflict` if the folder of a session is gone: an agent must not start over in an empty one."""
    if not is_folder(cwd):
        raise Conflict(
            "folder_missing",
            f"The folder of this session, {cwd}, is gone. Put it back (bough worktree recover brings a removed "
            "worktree back) and resume the session, or fork it into a new worktree.",
            folder=cwd,
        )


async def remove_forged_link(session: Session) -> None:
    """Removes the file by which an agent could send git to another folder's settings."""
    if await asyncio.to_thread(git_layout.remove_forged_link, session.cwd):
        log.warning("forged_git_folder", session=session.id, cwd=session.cwd)
