"""Attacks by what belongs neither to files nor to hosts: sockets without a file, and keys that the kernel keeps."""

from __future__ import annotations

import secrets
import socket
import sys
from pathlib import Path

import pytest

from bough.agents.keeper.kernel_doors import KEYCTL, MACHINE, closes_sockets
from tests.attacks.sandbox.box_agents import Boxed, disguised, needs_sandbox, run
from tests.attacks.sandbox.keyring_server import NAME, VALUE
from tests.core.helpers import open_in
from tests.support.server import ServerProcess

CONNECT = """
import socket, sys
name = "\\0" + sys.argv[1]
own = socket.socket(socket.AF_UNIX)
own.bind(name + "-own")
own.listen()
socket.socket(socket.AF_UNIX).connect(name + "-own")
print("own")
try:
    socket.socket(socket.AF_UNIX).connect(name)
    print("reached")
except OSError as error:
    print("closed")
"""
FIND_KEY = """
import ctypes, sys
call = ctypes.CDLL(None).syscall
content = ctypes.create_string_buffer(50)
for ring in (-1, -2, -3, -4, -5):
    key = call(int(sys.argv[1]), 10, ctypes.c_int(ring), b"user", sys.argv[2].encode(), 0)
    if key >= 0:
        call(int(sys.argv[1]), 11, ctypes.c_int(key), content, ctypes.c_size_t(50))
print("found", content.value)
"""


@needs_sandbox
@pytest.mark.skipif(not closes_sockets(), reason="The kernel cannot close abstract sockets: it is older than 6.12.")
@pytest.mark.parametrize("profile", ["workspace", "strict"])
async def test_sockets_without_a_file(boxed: Boxed, profile: str) -> None:
    """S6: An agent reaches no service that listens at an abstract name, such as a desktop's, and may have its own."""
    name = f"bough-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0{name}")
        service.listen()
        session = await boxed.session(sandboxProfile=profile)
        (boxed.repo / "connect.py").write_text(CONNECT)
        output = await boxed.run(session, disguised(f"{sys.executable} connect.py {name}"))
        assert output.split() == ["own", "closed"]


@needs_sandbox
@pytest.mark.skipif(MACHINE not in KEYCTL, reason="The call has another number on this machine.")
async def test_keys_of_the_kernel(tmp_path: Path) -> None:
    """S6: An agent finds none of the keys that the server's login has."""
    module = "tests.attacks.sandbox.keyring_server"
    server = ServerProcess(tmp_path / "data", tmp_path / "work", ("--sandbox", "required"), module=module)
    async with server, server.client() as client:
        session = await open_in(server, client, permissionMode="bypassPermissions")
        (server.root / "repo" / "find.py").write_text(FIND_KEY)
        output = await run(client, session, disguised(f"{sys.executable} find.py {KEYCTL[MACHINE]} {NAME.decode()}"))
        assert output == "found b''\n" and VALUE.decode() not in output
