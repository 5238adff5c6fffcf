"""Copies a remote repository into an empty folder, for a person who asked for it, and runs nothing that it contains: no
hooks, filters or submodules."""

from __future__ import annotations

import re

import msgspec

from bough.errors import Conflict, Invalid
from bough.git.decode import shown
from bough.git.finish.remotes import DEFAULT, Remote, parse_remote, without_login
from bough.git.finish.transfer import SENDER, helper_option, without_logins
from bough.git.process import KEPT_ERRORS
from bough.git.run import GitFailed, git, git_over_network
from bough.model.repo import ClonePhase
from bough.model.values.visible import visible

# A very large repository over a slow line takes hours. Whoever waits can cancel it.
WITHIN = 6 * 3600.0
CHECK_OUT_WITHIN = 3600.0
# A repository needs no more of git's templates than git itself; their hooks would only be copied.
_OPTIONS = (
    *("--no-checkout", "--no-recurse-submodules", "--no-local", "--template=", "--origin", DEFAULT, "--progress"),
)
_LINE_ENDS = re.compile(rb"[\r\n]")
_STEP = re.compile(
    rb"(?:remote: )?(Receiving objects|Resolving deltas): +(\d{1,3})%(?: \(\d+/\d+\))?(?:, ([\d.]+) (bytes|[KMGT]iB))?"
)
_PROGRESS = re.compile(r"(remote: )?[A-Z][a-z]+ [a-z]+: +\d+")
_PHASES: dict[bytes, ClonePhase] = {b"Receiving objects": "receiving", b"Resolving deltas": "resolving"}
_UNITS = {b"bytes": 1, b"KiB": 1 << 10, b"MiB": 1 << 20, b"GiB": 1 << 30, b"TiB": 1 << 40}
_LONGEST_LINE = 4096
_MOST_LINES = 8
_LONGEST_ERROR = 2000
# What git says, and what helps.
_HINTS = (
    ("could not read Username", "The server asks for a login. Set up a credential helper for git, or use ssh."),
    ("could not read Password", "The server asks for a password. Set up a credential helper for git, or use ssh."),
    ("Host key verification failed", "Connect to this server once with ssh in a terminal, and confirm its key."),
    ("Permission denied (publickey", "The server does not accept your ssh key."),
)


class CloneProgress(msgspec.Struct):
    """How far a clone is. `percent` belongs to the phase."""

    phase: ClonePhase = "connecting"
    percent: int | None = None
    received: int | None = None


class ProgressReader:
    """Reads git's progress from what it writes; `progress` is the last that it said. A thread feeds it."""

    def __init__(self) -> None:
        self.progress = CloneProgress()
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *complete, self._rest = _LINE_ENDS.split(self._rest[-_LONGEST_LINE:] + chunk)
        for line in complete:
            match = _STEP.match(line)
            if match is None:
                continue
            received = self.progress.received
            if match[3] is not None:
                received = int(float(match[3]) * _UNITS[match[4]])
            # Replaced as a whole, because another thread reads it.
            self.progress = CloneProgress(_PHASES[match[1]], min(int(match[2]), 100), received)


def parse_address(address: str, root: str) -> Remote:
    """Parses the address of a repository to clone; a relative folder is below `root`. Raises `Invalid` unless it is
    https, ssh or a folder, and if it holds a password: git would store it where agents can read it."""
    text = address.strip()
    try:
        remote = parse_remote(DEFAULT, text, root)
    except Conflict as error:
        raise Invalid(
            "bad_address",
            f"{visible(without_login(shown(text)))[:200]!r} is not an address to clone from. Give an https or ssh "
            "address, or a folder on the machine where Bough runs.",
        ) from error
    if remote.protocol == "https" and any(mark in text for mark in "@?#"):
        raise _with_secret("Leave out everything before an @ and after a ? or #")
    login = text.partition("://")[2].partition("/")[0].rpartition("@")[0]
    # A second colon before an @ is no form that git knows, but may be somebody's password.
    if ":" in login or (remote.protocol == "ssh" and "://" not in text and re.search(r":.*:.*@|:.*@.*:", text)):
        raise _with_secret("Leave out the password")
    return remote


def _with_secret(what: str) -> Invalid:
    return Invalid(
        "address_with_login",
        f"{what}: git would store it in the clone, where agents can read it. Git gets logins from your credential "
        "helper or ssh.",
    )


def folder_name(remote: Remote) -> str | None:
    """Returns the name of the folder that git would choose for a clone; None if the address has none."""
    path = (remote.address if remote.protocol == "file" else remote.project or "").rstrip("/")
    name = path.rpartition("/")[2].rpartition(":")[2]
    if name == ".git":
        name = path.removesuffix("/.git").rpartition("/")[2]
    name = name.removesuffix(".git")
    return name if re.fullmatch(r"[\w][\w.+-]{0,99}", name) else None


async def fetch_everything(folder: str, remote: Remote, reader: ProgressReader) -> None:
    """Clones into the empty `folder`, without files."""
    helper = helper_option("upload-pack", remote, SENDER)
    words = ("clone", *_OPTIONS, *helper, "--", remote.address, ".")
    try:
        await git_over_network(folder, *words, env={}, timeout=WITHIN, watch=reader.feed)
    except GitFailed as error:
        raise GitFailed(error.code, explained(error.message)) from error


async def check_out_files(folder: str) -> None:
    """Writes the files of the default branch; filters that nobody allowed do not run. An empty repository has none."""
    if await git(folder, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1)):
        await git(folder, "reset", "--hard", "--quiet", timeout=CHECK_OUT_WITHIN)


def explained(message: str) -> str:
    """Returns the end of git's errors for people: without progress, logins and hidden characters."""
    words = message.removeprefix("git clone failed: ")
    lines = [line.strip() for line in re.split(r"[\r\n]", words[-KEPT_ERRORS:])]
    named = [line for line in lines if line and not _PROGRESS.match(line) and not line.startswith("Cloning into")]
    text = "\n".join(visible(without_logins(line)) for line in named[-_MOST_LINES:])
    hints = [hint for phrase, hint in _HINTS if phrase in words]
    return "\n".join((text[-_LONGEST_ERROR:] or "git clone failed.", *hints[:1]))
