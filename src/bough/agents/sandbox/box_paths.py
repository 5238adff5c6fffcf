"""Gathers the paths of one box from the disk: the session's folder, its git folders, the agent's state and what stays
hidden."""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bough.agents.sandbox.bwrap_arguments import Box
from bough.agents.sandbox.credentials import HIDDEN_VARIABLES, credential_paths, moved_credentials
from bough.agents.sandbox.git_layout import GitPaths, find_layout, paths_of
from bough.agents.sandbox.own_files import NO_FILES, OwnFiles, find_mounts, is_below
from bough.agents.sandbox.private_copies import copied
from bough.agents.sandbox.sockets import bound_sockets
from bough.errors import Denied

TEMPORARY = ("/tmp", "/var/tmp")
# The agents that come with Bough are part of it.
PACKAGE = str(Path(__file__).parents[2])
# Everything else in /run belongs to services of the machine, and a socket can be used even where it cannot be written.
READABLE_RUN = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd", "/run/current-system")
# With a network of its own, a box gets none of those that resolve names: their sockets lead out of it.
READABLE_RUN_OFFLINE = ("/run/current-system",)
RESOLV_CONF = "/etc/resolv.conf"
EMPTY_FILE = "empty"
"""The file in the data folder that covers hidden files."""
WORKTREES = ".worktrees"
"""The folder in which Bough creates worktrees."""
CACHE = "/tmp/cache"
# The home folder is read-only, so that the caches of package managers are private.
CACHE_VARIABLES = {
    "npm_config_cache": f"{CACHE}/npm",
    "PIP_CACHE_DIR": f"{CACHE}/pip",
    "UV_CACHE_DIR": f"{CACHE}/uv",
    "YARN_CACHE_FOLDER": f"{CACHE}/yarn",
    "GOCACHE": f"{CACHE}/go",
}
# Git in the box cannot see other worktrees or keys: it must not clean up after them or sign.
GIT_SETTINGS = {"gc.auto": "0", "gc.worktreePruneExpire": "never", "commit.gpgSign": "false", "tag.gpgSign": "false"}


@dataclass(frozen=True)
class BoxRequest:
    """The purpose of a box: a session's folder and rights, an agent's files, and the settings."""

    cwd: str
    read_only: bool
    data: Path
    # The agent's environment and command.
    env: Mapping[str, str]
    command: Sequence[str]
    # The agent's own files, and others that it reads.
    own: OwnFiles = NO_FILES
    readable: Sequence[str] = ()
    # Whether the agent confines its commands in a sandbox of its own.
    nests: bool = False
    # Folders of other sessions' worktrees.
    worktrees: Sequence[str] = ()
    # Further paths from the settings.
    extra_readable: Sequence[str] = ()
    extra_writable: Sequence[str] = ()
    # Whether the box has a network of its own.
    own_network: bool = False
    # Further folders in which the agent works.
    directories: Sequence[str] = ()


def gather(request: BoxRequest) -> Box:
    """Returns the paths of a box. Creates missing folders for the agent's state. Raises `Denied` if a link leads from
    the session's folder elsewhere: an agent could have put it there to have the other folder opened."""
    cwd, data = _unmoved(request.cwd), os.path.realpath(request.data)
    directories = [_unmoved(path) for path in request.directories]
    homes = _homes(request.env)
    layout = find_layout(cwd)
    folder = layout.top if layout is not None and _is_allowed(layout.top, (*homes, data)) else cwd
    git = paths_of(layout) if layout is not None and not request.read_only else GitPaths([], [], [])
    if layout is not None and request.read_only:
        git = GitPaths([layout.common], [], [])
    if layout is not None and not layout.linked and not request.read_only and folder == layout.top:
        _create_worktrees(os.path.join(folder, WORKTREES))
    for path in directories:
        more = _git_of(path, read_only=request.read_only)
        git = GitPaths(
            [*git.readable, *more.readable], [*git.writable, *more.writable], [*git.protected, *more.protected]
        )
    own = find_mounts(request.own, data)
    writable = [*own.writable, *_real(request.extra_writable)]
    # A service may keep Bough's data in its home folder itself.
    readable = [home for home in homes if home != data]
    run = READABLE_RUN_OFFLINE if request.own_network else READABLE_RUN
    readable += [*_real(request.readable), *_real(request.extra_readable), *git.readable, *_real(run), *own.readable]
    if not request.own_network:
        readable += _name_servers()
    readable += [path for path in _programs(request.command) if is_below(path, (data, *TEMPORARY))]
    # Bough itself may be installed below the temporary folder, which is private inside.
    readable += [path for path in _real((sys.prefix, PACKAGE)) if is_below(path, TEMPORARY)]
    if request.read_only:
        readable += [folder, *directories]
    else:
        writable += [folder, *directories, *git.writable]
    hidden = [data, *_hidden_worktrees(request.worktrees, folder, directories)]
    hidden += [path for home in homes for path in credential_paths(home)]
    for environ in (os.environ, request.env):
        hidden += moved_credentials(environ, (cwd, folder, *directories, *homes, *own.writable))
    if request.own_network:
        # Not those in the session's folder, which come and go with what people run there.
        hidden += [path for path in bound_sockets() if not is_below(path, (folder, *directories, "/run", *TEMPORARY))]
    places = (folder, *directories)
    taken = {*hidden, *writable, *own.private}
    dotfiles = [path for home in homes for place in places for path in _dotfiles(home, place, taken)]
    return Box(
        cwd=cwd,
        hidden_folders=[path for path in hidden if os.path.isdir(path)],
        hidden_files=[path for path in hidden if not os.path.isdir(path)],
        empty_file=_empty_file(data),
        private=[path for path in _private(request.env, data) if os.path.isdir(path)] + own.private,
        copies=copied(own.copied, data, (folder, *writable)),
        sources=own.sources,
        readable=readable,
        writable=writable,
        links=[(path, os.path.realpath(path)) for path in run if os.path.islink(path)],
        own_network=request.own_network,
        root_nests=request.nests and os.geteuid() == 0,
        protected=[
            *git.protected,
            *own.protected,
            *dotfiles,
        ],
    )


def _unmoved(path: str) -> str:
    """Returns a folder of a session; raises `Denied` if a link leads from it elsewhere by now."""
    real = os.path.realpath(path)
    if real != os.path.normpath(path):
        raise Denied(
            "path_outside_root",
            f"The folder {path} now leads to {real}, so no agent was started. Put the folder back first.",
        )
    return real


def _git_of(directory: str, *, read_only: bool) -> GitPaths:
    """Returns what commits in a further folder need; nothing if it is not the top of a working copy."""
    layout = find_layout(directory)
    if layout is None or layout.top != directory:
        return GitPaths([], [], [])
    if read_only:
        return GitPaths([layout.common], [], [])
    if not layout.linked:
        _create_worktrees(os.path.join(directory, WORKTREES))
    return paths_of(layout)


def box_env(env: Mapping[str, str], data: Path) -> dict[str, str]:
    """Returns the agent's environment inside the box."""
    inside = {name: value for name, value in env.items() if name not in HIDDEN_VARIABLES}
    if "TMPDIR" in inside and not is_below(os.path.realpath(inside["TMPDIR"]), (os.path.realpath(data),)):
        del inside["TMPDIR"]
    inside |= {name: path for name, path in CACHE_VARIABLES.items() if name not in env}
    count = int(inside["GIT_CONFIG_COUNT"]) if inside.get("GIT_CONFIG_COUNT", "").isdecimal() else 0
    for number, (name, value) in enumerate(GIT_SETTINGS.items(), count):
        inside |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return inside | {"GIT_CONFIG_COUNT": str(count + len(GIT_SETTINGS))}


def _homes(env: Mapping[str, str]) -> list[str]:
    """Returns the existing home folders: the agent's, and the user's if HOME names another. A service's may be missing
    or `/`, which is not one person's."""
    names = [env.get("HOME") or os.path.expanduser("~")]
    with contextlib.suppress(KeyError):
        names.append(pwd.getpwuid(os.geteuid()).pw_dir)
    paths = dict.fromkeys(os.path.realpath(name) for name in names if os.path.isabs(name))
    return [path for path in paths if path != "/" and os.path.isdir(path)]


def _is_allowed(top: str, private: Iterable[str]) -> bool:
    """Returns whether a whole working copy may be writable. A person may keep the home folder itself in git, and a
    session in one of its subfolders must not get all of it."""
    return not any(is_below(path, (top,)) for path in private)


def _dotfiles(home: str, folder: str, others: set[str]) -> list[str]:
    """Returns the settings in a home folder that is the session's folder: shells and editors run what they say."""
    if not is_below(home, (folder,)):
        return []
    paths = _real(os.path.join(home, name) for name in os.listdir(home) if name.startswith("."))
    return [path for path in paths if path not in others]


def _private(env: Mapping[str, str], data: str) -> list[str]:
    """Returns the private folders. An agent's TMPDIR in the data folder is one of them."""
    temporary = os.path.realpath(env.get("TMPDIR") or TEMPORARY[0])
    return [*TEMPORARY, "/run", *([temporary] if is_below(temporary, (data,)) else [])]


def _name_servers() -> list[str]:
    """Returns where the addresses of name servers are, if that is in a folder that is private in the box."""
    file = os.path.realpath(RESOLV_CONF)
    if not os.path.isfile(file) or not is_below(file, ("/run", *TEMPORARY)):
        return []
    # Programs replace the file, so the box needs its folder, unless that is the private folder itself.
    folder = os.path.dirname(file)
    return [file if folder in ("/run", *TEMPORARY) else folder]


def _hidden_worktrees(worktrees: Iterable[str], folder: str, directories: Sequence[str]) -> list[str]:
    """Returns the folders to hide. They are those in which Bough creates worktrees, so that later ones are hidden too,
    and single worktrees elsewhere."""
    places = (folder, *directories)
    paths = {os.path.realpath(path) for path in worktrees} - set(places)
    above = {os.path.dirname(path) for path in (*paths, *places)}
    parents = {path for path in above if os.path.basename(path) == WORKTREES}
    for place in places:
        own = os.path.join(place, WORKTREES)
        if os.path.isdir(own) and not os.path.islink(own):
            parents.add(own)
    alone = {path for path in paths if os.path.dirname(path) not in parents}
    alone = {path for path in alone if not any(is_below(place, (path,)) for place in places)}
    return sorted(path for path in parents | alone if os.path.isdir(path))


def _empty_file(data: str) -> str:
    """Returns an empty file that nobody writes, and creates it."""
    path = os.path.join(data, EMPTY_FILE)
    os.makedirs(data, mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444))
    return path


def _create_worktrees(folder: str) -> None:
    """Creates the folder for worktrees before there are any, because a running box cannot hide what comes later.

    The file in it keeps the folder out of git's sight, and keeps Bough from removing it when it is empty, which would
    remove it from running boxes, too.
    """
    if os.path.islink(folder):
        return
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, ".gitignore"), "x") as file:
            file.write("*\n")


def _programs(command: Sequence[str]) -> list[str]:
    """Returns the files that a command names."""
    return [os.path.realpath(word) for word in command if os.path.isabs(word) and os.path.isfile(word)]


def _real(paths: Iterable[str]) -> list[str]:
    return [os.path.realpath(path) for path in paths if path and os.path.exists(path)]
