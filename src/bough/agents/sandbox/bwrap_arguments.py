"""Builds the arguments of `bwrap` from lists of paths. Reads nothing from the disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

# The namespaces and rights of every box. The agent dies with its keeper, has no terminal to write to, and no right that
# root has beyond owning files.
BASE = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)

OWN_NETWORK = "--unshare-net"

# Parts of /proc that belong to the whole machine. To the kernel, the root of a box is the machine's root, who may write
# there, such as the program that it starts when another one crashes.
MACHINE = tuple(
    f"/proc/{name}"
    for name in (
        *("acpi", "bus", "driver", "dynamic_debug", "fs", "irq", "latency_stats", "mtrr", "pressure", "scsi"),
        *("slabinfo", "sys", "sysrq-trigger", "timer_stats", "tty"),
    )
)

Kind = Literal["hidden", "private", "read", "write"]


@dataclass(frozen=True)
class BoxLimits:
    """The limits of one box: bytes of memory for each process, processes and open files."""

    memory: int
    processes: int
    open_files: int


@dataclass(frozen=True)
class Box:
    """The paths of one box, all real and absolute. A later list takes precedence over an earlier one."""

    cwd: str
    # Folders and files that look empty.
    hidden_folders: Sequence[str] = ()
    hidden_files: Sequence[str] = ()
    # The empty file that covers them. Not /dev/null: mounted without the right to use devices, it cannot be opened.
    empty_file: str = ""
    # Folders that are empty at first and that only this box sees.
    private: Sequence[str] = ()
    readable: Sequence[str] = ()
    writable: Sequence[str] = ()
    # Files of which only this box sees the changes: copies, and the paths at which they appear.
    copies: Sequence[tuple[str, str]] = ()
    # Where the content of other paths comes from, if they are links: paths, and what is mounted there.
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    # Parts of writable folders that stay read-only.
    protected: Sequence[str] = ()
    # Links inside private folders: their own paths and their targets.
    links: Sequence[tuple[str, str]] = ()
    # Whether root's agent may start a sandbox of its own inside. Other users' agents always can.
    root_nests: bool = False
    # Whether it has a network of its own, with nothing in it but its own loopback.
    own_network: bool = False


def arguments(program: str, box: Box) -> list[str]:
    """Returns `bwrap` with its arguments, before the agent's command.

    Everything is mounted from the top down, so that a folder never covers what was mounted inside it.
    """
    # The kernel wants this right of a root who maps root into another user namespace.
    rights = ["--cap-add", "CAP_SETFCAP"] if box.root_nests else []
    network = [OWN_NETWORK] if box.own_network else []
    kinds = _kinds(box)
    # Mounted before /dev and /proc, which it would cover.
    root = "--bind" if kinds.pop("/", None) == "write" else "--ro-bind"
    command = [program, *BASE, *network, *rights, root, "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for path in MACHINE:
        command += ["--ro-bind-try", path, path]
    closed: list[str] = []
    sources = {**box.sources, **{path: copy for copy, path in box.copies}}
    for path, kind in _in_order(kinds):
        if kind == "write":
            command += ["--bind", sources.get(path, path), path]
        elif kind == "read":
            command += ["--ro-bind", sources.get(path, path), path]
        elif path in box.hidden_files:
            command += ["--ro-bind", box.empty_file, path]
        else:
            command += ["--tmpfs", path]
            if kind == "hidden":
                closed.append(path)
    for path, target in box.links:
        command += ["--symlink", target, path]
    # Only now, because bwrap creates the mount points inside these folders itself.
    for path in closed:
        command += ["--remount-ro", path]
    return [*command, "--chdir", box.cwd]


def limited(program: str | None, limits: BoxLimits) -> list[str]:
    """Returns the command that sets the limits, before the agent's command; nothing without `prlimit`.

    It runs inside the box: there the kernel counts only the processes of the box.
    """
    if program is None:
        return []
    return [
        program,
        f"--data={limits.memory}",
        f"--nproc={limits.processes}",
        f"--nofile={limits.open_files}",
        "--core=0",
        "--",
    ]


def _kinds(box: Box) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    kinds |= dict.fromkeys((*box.hidden_folders, *box.hidden_files), "hidden")
    kinds |= dict.fromkeys(box.private, "private")
    kinds |= dict.fromkeys(box.readable, "read")
    kinds |= dict.fromkeys((*box.writable, *(path for _, path in box.copies)), "write")
    kinds |= dict.fromkeys(box.protected, "read")
    return kinds


def _in_order(kinds: Mapping[str, Kind]) -> list[tuple[str, Kind]]:
    """Returns the mounts from the top down, without those that hide something inside an empty folder."""
    ordered: list[tuple[str, Kind]] = []
    for path in sorted(kinds, key=lambda path: path.split("/")):
        above = next((kind for folder, kind in reversed(ordered) if path.startswith(folder.rstrip("/") + "/")), None)
        if kinds[path] != "hidden" or above not in ("hidden", "private"):
            ordered.append((path, kinds[path]))
    return ordered
