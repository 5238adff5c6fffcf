"""Lists the programs that a repository's configuration names and that no fixed setting can turn off: filters, merge
drivers and helpers of transports. Git reads the configuration; the answer is remembered until a file changes."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

from bough.git.safe.location import Location, find

# Filters and merge drivers of every scope: a user's own filter would run on what a repository's attributes select.
PROGRAMS = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"
_TRANSPORTS = (
    r"^(credential\.|url\.|core\.(gitproxy|askpass|sshcommand)$|remote\..*\.(uploadpack|receivepack|vcs|proxy)$)"
)
_INCLUDES = r"^include(if\..*)?\.path$"
QUERY = ("config", "--show-scope", "--name-only", "-z", "--get-regexp", f"({PROGRAMS})|({_TRANSPORTS})|({_INCLUDES})")
# Scopes that an agent may be able to write.
OF_THE_REPOSITORY = ("local", "worktree")
MOST_REMEMBERED = 500
# The environment of a process has a limit.
MOST_NAMES = 500

FileFacts = tuple[int, int, int] | None
Fingerprint = tuple[FileFacts, ...]


class Configured(msgspec.Struct, frozen=True):
    """The names of settings: programs to turn off, and transports that the repository itself configures."""

    programs: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    # Whether the repository includes other files, which the fingerprint does not cover.
    includes: bool = False


class ConfiguredRepository(msgspec.Struct, frozen=True):
    """A folder's repository, and what its configuration files looked like when it was found."""

    location: Location
    configuration: Fingerprint


_remembered: OrderedDict[str, tuple[Fingerprint, Configured]] = OrderedDict()


def find_repository(cwd: str) -> ConfiguredRepository | None:
    """Returns the repository that contains `cwd`, or None."""
    location = find(cwd)
    return None if location is None else ConfiguredRepository(location, fingerprint(location))


def fingerprint(location: Location) -> Fingerprint:
    """Returns what changes whenever one of the configuration files does."""
    home = os.path.expanduser("~")
    xdg = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    files = (
        os.path.join(location.common, "config"),
        os.path.join(location.git_dir, "config.worktree"),
        os.path.join(home, ".gitconfig"),
        os.path.join(xdg, "git", "config"),
        "/etc/gitconfig",
    )
    return tuple(_facts(file) for file in files)


def _facts(path: str) -> FileFacts:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_ino, about.st_size, about.st_ctime_ns


def remembered(location: Location, now: Fingerprint) -> Configured | None:
    entry = _remembered.get(location.git_dir)
    return entry[1] if entry is not None and entry[0] == now else None


def remember(location: Location, before: Fingerprint, configured: Configured) -> None:
    """Remembers an answer for the files as they were before git read them."""
    _remembered.pop(location.git_dir, None)
    if not configured.includes:
        _remembered[location.git_dir] = (before, configured)
        while len(_remembered) > MOST_REMEMBERED:
            _remembered.popitem(last=False)


def parse(text: str) -> Configured:
    """Reads git's answer to `QUERY`: alternately a scope and a name."""
    words = text.split("\0")[:-1]
    programs: dict[str, None] = {}
    transports: dict[str, None] = {}
    includes = False
    for scope, name in zip(words[::2], words[1::2], strict=True):
        if name.startswith(("filter.", "merge.")):
            programs[name] = None
        elif scope in OF_THE_REPOSITORY:
            includes = includes or name.startswith("include")
            if not name.startswith("include"):
                transports[name] = None
    return Configured(tuple(programs), tuple(transports), includes)


def filter_name(setting: str) -> str | None:
    """Returns the filter that a setting belongs to, if any."""
    section, _, rest = setting.partition(".")
    return rest.rpartition(".")[0] if section == "filter" else None


def turned_off(configured: Configured, allowed: Mapping[str, str]) -> dict[str, str]:
    """Returns settings that turn off all filters and merge drivers but the allowed ones, which get the values that a
    person allowed."""
    settings: dict[str, str] = {}
    allowed_filters = set(map(filter_name, allowed))
    for name in configured.programs:
        settings[name] = ""
        driver = filter_name(name)
        if driver is None:
            continue
        settings[f"filter.{driver}.required"] = "false"
        if driver not in allowed_filters:
            # Also the parts that are not set now: an agent may be about to set them.
            settings |= {f"filter.{driver}.{part}": "" for part in ("clean", "smudge", "process")}
    return {**settings, **allowed}
