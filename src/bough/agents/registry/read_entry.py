"""Reads one entry of an agent registry (`agent.json`). Refuses whatever could mislead people or run something else."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from bough.agents.process.inherited_env import HIDDEN_PREFIXES, INHERITED
from bough.errors import Invalid
from bough.model.values.visible import visible

Distribution = Literal["npx", "uvx", "binary"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("npx", "uvx", "binary")
LARGEST_ENTRY = 64 * 1024
"""Bytes of one entry; usual ones have less than 2 KiB."""
LONGEST_TEXT = 500
LONGEST_ARGUMENT = 1000
MOST_ARGUMENTS = 40

_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
_VERSION = r"[0-9][0-9A-Za-z.+-]{0,63}"
_NPM = re.compile(rf"((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*)(?:@({_VERSION}))?")
_PYPI = re.compile(rf"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]+\])?)(?:(?:==|@)({_VERSION}))?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PATH_PART = re.compile(r"[A-Za-z0-9_+][A-Za-z0-9._+-]*")
_ARCHIVE = re.compile(r"https://[A-Za-z0-9.-]+(?::\d+)?/[!-~]{1,1000}")
# Variables by which programs load code or find their settings, besides those that the server may pass on.
_DANGEROUS = (
    *("LD_*", "DYLD_*", "GLIBC_*", "MALLOC_*", "BASH_*", "ENV", "IFS", "PS4", "SHELLOPTS", "ZDOTDIR", "PROMPT_COMMAND"),
    *("NODE_*", "NPM_*", "PYTHON*", "PIP_*", "UV_*", "PERL*", "RUBY*", "JAVA_*", "_JAVA_*", "JDK_*", "CLASSPATH"),
    *("GIT_*", "SSH_*", "SSL_*", "OPENSSL_*", "*_PROXY", "XDG_*", "TMPDIR", "ELECTRON_*", "DENO_*", "BUN_*"),
)
# What Bough replaces in the command and variables of a catalog file.
_PLACEHOLDERS = ("{python}", "{data}", "{home}", "{cwd}")


class _Package(msgspec.Struct):
    package: str
    args: list[str] = []
    env: dict[str, str] = {}


class _Archive(msgspec.Struct):
    archive: str
    cmd: str
    args: list[str] = []
    env: dict[str, str] = {}
    sha256: str | None = None


class _Distributions(msgspec.Struct):
    npx: _Package | None = None
    uvx: _Package | None = None
    binary: dict[str, _Archive] | None = None


class RegistryEntry(msgspec.Struct):
    """An entry as a registry writes it; fields that Bough does not use are left out."""

    id: str
    name: str
    version: str
    description: str
    distribution: _Distributions
    repository: str | None = None
    authors: list[str] = []
    license: str | None = None


class RegistryAgent(msgspec.Struct, frozen=True):
    """A checked entry with one way to start the agent. For an archive, `command` begins with a path inside it."""

    id: str
    name: str
    version: str
    description: str
    distribution: Distribution
    command: list[str]
    env: dict[str, str]
    license: str
    repository: str
    archive: str = ""
    sha256: str = ""


def read_entry(text: bytes, chosen: Distribution | None = None) -> RegistryAgent:
    """Returns a checked entry, with the chosen way to start it or the first that this machine can use. Raises `Invalid`
    for an entry that is malformed, not pinned to a version, or not to be trusted."""
    if len(text) > LARGEST_ENTRY:
        raise _refused(f"is larger than {LARGEST_ENTRY} bytes")
    try:
        entry = msgspec.json.decode(text, type=RegistryEntry)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        hint = "; it is a registry's document: name one of its agents" if b'"agents"' in text[:2000] else ""
        raise _refused(f"does not have the format of a registry ({error}){hint}") from error
    return check_entry(entry, chosen)


def check_entry(entry: RegistryEntry, chosen: Distribution | None = None) -> RegistryAgent:
    """Checks an entry that has been decoded."""
    if _ID.fullmatch(entry.id) is None:
        raise _refused(f"has the id {entry.id[:80]!r}; use up to 64 of a-z, 0-9 and -, beginning with a letter")
    if re.fullmatch(_VERSION, entry.version) is None:
        raise _refused(f"has the version {entry.version[:80]!r}, which is not one release")
    for name in ("name", "description", "license", "repository"):
        _check_text(name, getattr(entry, name) or "")
    if not entry.name.strip():
        raise _refused("has no name")
    way = _way(entry, chosen)
    command, archive, sha256 = _command(entry, way)
    env = _start(entry, way).env
    _check_arguments(command[1:])
    _check_env(env)
    return RegistryAgent(
        id=entry.id,
        name=entry.name,
        version=entry.version,
        description=entry.description,
        distribution=way,
        command=command,
        env=env,
        license=entry.license or "",
        repository=entry.repository or "",
        archive=archive,
        sha256=sha256,
    )


def this_platform() -> str:
    """Returns the registry's name for this machine, such as `linux-x86_64`."""
    machine = platform.machine().lower()
    names = {"amd64": "x86_64", "arm64": "aarch64"}
    return f"{'darwin' if sys.platform == 'darwin' else 'linux'}-{names.get(machine, machine)}"


def _way(entry: RegistryEntry, chosen: Distribution | None) -> Distribution:
    ways = entry.distribution
    known: list[Distribution] = [way for way in DISTRIBUTIONS if getattr(ways, way)]
    usable: list[Distribution] = [way for way in known if way != "binary" or this_platform() in (ways.binary or {})]
    if chosen is not None and chosen not in usable:
        raise _refused(f"does not come as {chosen} for {this_platform()}; it has: {', '.join(known) or 'nothing'}")
    if not usable:
        raise _refused(f"has nothing that {this_platform()} can run; it has: {', '.join(known) or 'nothing'}")
    return chosen or usable[0]


def _start(entry: RegistryEntry, way: Distribution) -> _Package | _Archive:
    if way == "binary":
        assert entry.distribution.binary is not None
        return entry.distribution.binary[this_platform()]
    start = entry.distribution.npx if way == "npx" else entry.distribution.uvx
    assert start is not None
    return start


def _command(entry: RegistryEntry, way: Distribution) -> tuple[list[str], str, str]:
    """Returns the words that start the agent in its pinned version, and the archive that they need."""
    start = _start(entry, way)
    if isinstance(start, _Archive):
        if _ARCHIVE.fullmatch(start.archive) is None:
            raise _refused(f"names the archive {start.archive[:200]!r}, which is not a plain https:// address")
        if start.sha256 is not None and re.fullmatch(r"[0-9a-f]{64}", start.sha256) is None:
            raise _refused("has a sha256 that is not 64 hexadecimal digits")
        return [_inner_path(start.cmd), *start.args], start.archive, start.sha256 or ""
    pattern = _NPM if way == "npx" else _PYPI
    match = pattern.fullmatch(start.package)
    if match is None or len(start.package) > LONGEST_TEXT:
        raise _refused(f"names the package {start.package[:200]!r}; Bough takes only a name and one version")
    name, version = match[1], match[2] or entry.version
    if version != entry.version:
        raise _refused(f"is version {entry.version}, but its package is pinned to {version}")
    if way == "npx":
        return ["npx", "--yes", f"{name}@{version}", *start.args], "", ""
    return ["uvx", f"{name}=={version}", *start.args], "", ""


def _inner_path(command: str) -> str:
    """Returns the path of a program in its archive."""
    parts = os.path.normpath(command.removeprefix("./")).split("/") if command else [""]
    if len(command) > LONGEST_TEXT or any(_PATH_PART.fullmatch(part) is None for part in parts):
        raise _refused(f"starts {command[:200]!r}, which is not a path inside its archive")
    return "/".join(parts)


def _check_text(name: str, text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise _refused(f"has a {name} of more than {LONGEST_TEXT} characters")
    if text != visible(text) or any(ord(character) < 32 for character in text):
        raise _refused(f"has hidden or control characters in its {name}")


def _check_arguments(arguments: list[str]) -> None:
    if len(arguments) > MOST_ARGUMENTS:
        raise _refused(f"has more than {MOST_ARGUMENTS} arguments")
    for argument in arguments:
        _check_word("argument", argument)


def _check_word(kind: str, word: str) -> None:
    shown = visible(word)[:100]
    if len(word) > LONGEST_ARGUMENT or word != visible(word) or any(ord(character) < 32 for character in word):
        raise _refused(f"has the {kind} {shown!r}, which is too long or has hidden characters")
    if word.startswith("~") or any(placeholder in word for placeholder in _PLACEHOLDERS):
        raise _refused(f"has the {kind} {shown!r}, in which Bough would fill in a path of this machine")


def _check_env(env: Mapping[str, str]) -> None:
    if len(env) > MOST_ARGUMENTS:
        raise _refused(f"sets more than {MOST_ARGUMENTS} variables")
    for name, value in env.items():
        if _VARIABLE.fullmatch(name) is None:
            raise _refused(f"sets the variable {visible(name)[:100]!r}, which is not a usual name")
        upper = name.upper()
        patterns = (*INHERITED, *_DANGEROUS)
        if upper.startswith(HIDDEN_PREFIXES) or any(fnmatchcase(upper, pattern.upper()) for pattern in patterns):
            raise _refused(f"sets {name}, which decides how programs run; that must not come from a registry")
        _check_word("value", value)


def _refused(reason: str) -> Invalid:
    return Invalid("bad_registry_entry", f"The agent was not added: its entry {reason}.")
