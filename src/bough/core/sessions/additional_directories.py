"""Checks the further folders of a new session: each is resolved inside the workspace root, like the session's own."""

from __future__ import annotations

from pathlib import Path

from bough.core.sessions.requests import NewSession
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.core.worktrees.session_folders import check_session_folder
from bough.errors import Conflict, Denied, Invalid
from bough.git.workspace import check_workspace
from bough.model.session import Caller
from bough.settings import Settings

MOST_DIRECTORIES = 10


def checked_directories(caller: Caller, settings: Settings, cwd: Path, new: NewSession) -> list[str]:
    """Returns the real further folders. Raises unless each is a usual folder inside the workspace root, and apart from
    the others. Reads the disk, so it runs in a thread."""
    if new.additional_directories and caller.kind == "session":
        raise Denied("folder_for_people", "Only a person can give a session further folders (additionalDirectories).")
    if len(new.additional_directories) > MOST_DIRECTORIES:
        raise Invalid("too_many_directories", f"A session has at most {MOST_DIRECTORIES} further folders.")
    root, data = settings.root_path, settings.data_path
    taken = [cwd]
    for path in new.additional_directories:
        real = resolve_inside(root, path, noun="folder", data=data)
        check_workspace(root, data, str(real))
        check_session_folder(caller, real, data, confirmed=new.confirm_folder)
        if any(real.is_relative_to(other) or other.is_relative_to(real) for other in taken):
            raise Conflict(
                "directory_overlap", f"{real} overlaps with another folder of the session. Name folders that are apart."
            )
        taken.append(real)
    return [str(path) for path in taken[1:]]
