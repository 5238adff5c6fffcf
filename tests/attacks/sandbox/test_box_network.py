"""Attacks by commands of an agent whose network is limited: it reaches its list, and a person decides about others."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bough.agents.sandbox.detect import Availability, SandboxProbe
from bough.core.tool_calls import service as calls
from tests.attacks.sandbox.box_agents import available, disguised, needs_sandbox, run
from tests.core.helpers import messages, open_in, open_session
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.server import Running, ServerProcess, serving

needs_network = pytest.mark.skipif(
    available.program is None or bool(available.network_reason),
    reason=available.reason or available.network_reason or "the sandbox works",
)
GET = """
import sys, urllib.error, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=120).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print("error", error)
"""


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"secret service")

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps quiet."""


@contextlib.contextmanager
def service() -> Generator[int]:
    """Runs a service of this machine and yields its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Running]:
    async with serving(tmp_path, sandbox="required", sandbox_profile="strict") as running:
        yield running


async def strict(server: Running, **fields: Any) -> str:
    session = await open_session(server, permissionMode="bypassPermissions", **fields)
    cwd = (await server.client.get(f"/api/sessions/{session}"))["cwd"]
    (Path(cwd) / "get.py").write_text(GET)
    return session


def get(url: str) -> str:
    return f"{sys.executable} get.py {url}"


async def asked(client: Client, session: str, url: str) -> tuple[str, dict[str, Any]]:
    """Lets the agent fetch a URL; returns its task, and the approval that this needs."""
    task = await client.prompt(session, f"[[run {get(url)}]]")
    return task, await client.approval(session)


async def output(client: Client, session: str, task: str) -> str:
    await client.wait_task(task, "completed")
    return (await messages(client, session, "tool"))[-1]["result"]["output"]["output"]


@needs_network
async def test_an_agent_works_without_a_network(server: Running) -> None:
    """S6: It edits and runs commands, its own ports work, and its session says how it is confined."""
    session = await strict(server)
    serve = f"{sys.executable} -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &"
    own = f"until {get('http://127.0.0.1:8123/')} > page && grep get.py page; do sleep 0.1; done"
    assert "get.py" in await run(server.client, session, f"{serve} {own}")
    row = await server.client.get(f"/api/sessions/{session}")
    assert (row["confinement"], row["unconfinedReason"]) == ("strict", None)


@needs_network
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_an_agent_reaches_no_service_of_this_machine(server: Running, host: str) -> None:
    """S6: Neither directly nor through the proxy, by whatever name."""
    session = await strict(server)
    with service() as port:
        for environment in ("", "NO_PROXY= no_proxy= "):
            answer = await run(server.client, session, f"{environment}{get(f'http://{host}:{port}/')}")
            assert "secret service" not in answer and ("error" in answer or answer.startswith("403"))


@needs_network
@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
async def test_addresses_are_blocked_without_a_question(server: Running, host: str) -> None:
    """S6: A person is never asked to allow an address."""
    session = await strict(server)
    answer = await run(server.client, session, get(f"http://{host}/"))
    assert answer[:3] in ("400", "403")
    assert (await server.client.get(f"/api/approvals?sessionId={session}"))["approvals"] == []


@needs_network
async def test_an_agent_reaches_only_the_tools_of_bough(server: Running) -> None:
    """S6: The port of Bough's server answers for its tools; everything else there is closed, token or not."""
    session = await strict(server)
    for path in ("/api/sessions", "/", "/acp"):
        assert (await run(server.client, session, get(f"{server.url}{path}"))).startswith("403")
    await server.client.ask(session, "[[mcp agor_sessions_list {}]]")
    (call,) = [message for message in await messages(server.client, session, "tool") if "agor" in str(message)]
    assert session in str(call)


@needs_network
async def test_a_person_decides_about_other_hosts(server: Running) -> None:
    """S6: The connection waits for the answer, which counts until the next prompt; the policy never decides."""
    client, session = server.client, await strict(server)
    task, approval = await asked(client, session, "http://new.invalid/")
    assert approval["toolKind"] == "network" and "new.invalid" in approval["title"]
    assert (await client.get(f"/api/sessions/{session}"))["activity"] == "waiting_permission"
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny", "because": "Use the mirror."})
    answer = await output(client, session, task)
    assert answer.startswith("403") and "Use the mirror." in answer
    task, approval = await asked(client, session, "http://new.invalid/")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
    assert (await output(client, session, task)).startswith("502")  # It is allowed, but there is no such host.
    task, approval = await asked(client, session, "http://new.invalid/")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
    assert (await output(client, session, task)).startswith("502")
    assert (await run(client, session, get("http://new.invalid/"))).startswith("502")


@needs_network
async def test_a_revoked_choice_is_asked_about_again(server: Running) -> None:
    """S6: What a person allowed for the session can be taken back, without a restart of the agent."""
    client, session = server.client, await strict(server)
    task, approval = await asked(client, session, "http://new.invalid/")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always", "scope": "worktree"})
    await output(client, session, task)
    (choice,) = (await client.get(f"/api/policy/choices?sessionId={session}"))["choices"]
    assert choice["key"] == "network: new.invalid"
    await client.call("DELETE", f"/api/policy/choices/{choice['id']}")
    task, approval = await asked(client, session, "http://new.invalid/")
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    assert (await output(client, session, task)).startswith("403")


@needs_network
async def test_a_choice_is_revoked_in_the_middle_of_a_turn(server: Running) -> None:
    """S6: The host is asked about again at once, not with the next prompt."""
    client, session = server.client, await strict(server)
    fetch = get("http://new.invalid/")
    task = await client.prompt(session, f"[[run {fetch}; until test -e go; do sleep 0.1; done; {fetch}]]")
    approval = await client.approval(session)
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow_always"})
    (choice,) = (await client.get(f"/api/policy/choices?sessionId={session}"))["choices"]
    await client.call("DELETE", f"/api/policy/choices/{choice['id']}")
    cwd = Path((await client.get(f"/api/sessions/{session}"))["cwd"])
    agent = server.services.runner.agents.get(session)
    assert agent is not None
    (cwd / "go").touch()
    approval = await client.approval(session)
    await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
    answer = await output(client, session, task)
    assert answer.startswith("502") and "A person has denied it." in answer


@needs_network
async def test_two_questions_at_a_time(server: Running) -> None:
    """S6: A session waits for a person until both hosts are decided. A new deadline allows neither of them."""
    client, session = server.client, await strict(server)
    task = await client.prompt(session, f"[[run {get('http://a.invalid/')} & {get('http://b.invalid/')}; wait]]")

    async def pending() -> list[dict[str, Any]] | None:
        page = await client.get(f"/api/approvals?sessionId={session}&status=pending")
        return page["approvals"] if len(page["approvals"]) == 2 else None

    first, second = await eventually(pending, "both hosts are asked about")
    await client.call("PATCH", f"/api/sessions/{session}", json={"headless": "allow"})
    assert (await client.get(f"/api/approvals/{second['id']}"))["onExpiry"] == "deny"
    await client.post(f"/api/approvals/{first['id']}", {"decision": "deny"})
    assert (await client.get(f"/api/sessions/{session}"))["activity"] == "waiting_permission"
    await client.post(f"/api/approvals/{second['id']}", {"decision": "deny"})
    assert (await output(client, session, task)).count("403") == 2


@needs_network
async def test_an_unattended_session_is_denied(tmp_path: Path) -> None:
    """S6: Nobody's answer allows no host, also where unanswered approvals are allowed."""
    settings = {"sandbox": "required", "sandbox_profile": "strict", "headless": "allow", "approval_timeout": 0.02}
    async with serving(tmp_path, **settings) as server:
        session = await strict(server)
        answer = await run(server.client, session, get("http://new.invalid/"))
        assert answer.startswith("403") and "Nobody answered in time" in answer


@needs_network
async def test_a_question_ends_with_its_turn(server: Running) -> None:
    """S6: Stopping the turn withdraws the question and closes the connection."""
    client, session = server.client, await strict(server)
    task, approval = await asked(client, session, "http://new.invalid/")
    await client.post(f"/api/sessions/{session}/stop")
    await client.wait_task(task, "cancelled")
    assert (await client.get(f"/api/approvals/{approval['id']}"))["status"] == "cancelled"


@needs_network
async def test_listed_services_are_open(tmp_path: Path) -> None:
    """S6: The server's and the repo's list open what they name, and changes need no restart for names."""
    with service() as port:
        settings = {"sandbox": "required", "sandbox_profile": "strict", "sandbox_hosts": f"localhost:{port}"}
        async with serving(tmp_path, **settings) as server:
            client, session = server.client, await strict(server)
            assert "secret service" in await run(client, session, get(f"http://localhost:{port}/"))
            agent = server.services.runner.agents.get(session)
            repo = (await client.get(f"/api/sessions/{session}"))["repoId"]
            await client.call("PATCH", f"/api/repos/{repo}", json={"sandboxHosts": ["*.Listed.invalid"]})
            assert (await run(client, session, get("http://a.listed.invalid/"))).startswith("502")
            assert server.services.runner.agents.get(session) is agent
            await client.call("PATCH", f"/api/repos/{repo}", json={"sandboxHosts": ["nonsense:"]}, expect=400)


@needs_network
async def test_other_ways_out_are_closed(server: Running) -> None:
    """S6: No interface but the loopback, no name service, no socket of another program."""
    session = await strict(server)
    interfaces = "import socket; print([name for _, name in socket.if_nameindex()])"
    names = await run(server.client, session, f'{sys.executable} -c "{interfaces}"')
    assert "'lo'" in names and "eth" not in names and "en" not in names
    raw = "import socket; socket.create_connection(('1.1.1.1', 443), 5)"
    assert "unreachable" in await run(server.client, session, f'{sys.executable} -c "{raw}" 2>&1; true')
    resolve = "import socket; socket.getaddrinfo('example.com', 443)"
    assert "gaierror" in await run(server.client, session, f'{sys.executable} -c "{resolve}" 2>&1; true')
    for family in ("AF_VSOCK", "AF_PACKET", "AF_ALG"):
        kind = "SOCK_SEQPACKET" if family == "AF_ALG" else "SOCK_STREAM" if family == "AF_VSOCK" else "SOCK_RAW"
        other = f"import socket; socket.socket(socket.{family}, socket.{kind})"
        assert "not supported by protocol" in await run(
            server.client, session, f'{sys.executable} -c "{other}" 2>&1; true'
        )
    sockets = disguised(f"find /run /tmp /var/tmp {server.data} -type s 2>/dev/null; true")
    assert await run(server.client, session, sockets) == ""


@needs_network
async def test_sockets_of_other_programs_are_hidden(server: Running) -> None:
    """S6: A socket in the file system leads out of the box, wherever it is."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as name, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{name}/daemon.sock")
        listener.listen()
        session = await strict(server)
        connect = f"import socket; socket.socket(socket.AF_UNIX).connect('{name}/daemon.sock')"
        answer = await run(server.client, session, disguised(f'{sys.executable} -c "{connect}" 2>&1; true'))
        assert "Permission denied" in answer or "Connection refused" in answer
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@needs_network
async def test_the_network_survives_the_death_of_the_server(tmp_path: Path) -> None:
    """S6: Listed services stay open, other hosts are denied, and the next server is asked again."""
    with service() as port:
        env = {"BOUGH_SANDBOX": "required", "BOUGH_SANDBOX_PROFILE": "strict"}
        env["BOUGH_SANDBOX_HOSTS"] = f"localhost:{port}"
        async with ServerProcess(tmp_path / "data", tmp_path / "work", env=env) as server:
            async with server.client() as client:
                session = await open_in(server, client, permissionMode="bypassPermissions")
                (server.root / "repo" / "get.py").write_text(GET)
                work = f"until test -e go; do sleep 0.1; done; {get(f'http://localhost:{port}/')} > listed"
                work += f"; {get('http://new.invalid/')} > denied; echo > done"
                task = await client.prompt(session, f"[[run {work}]]")
                await client.wait_task(task, "running")
            await server.stop(signal.SIGKILL)
            folder = server.root / "repo"
            (folder / "go").touch()
            await eventually(lambda: (folder / "done").exists(), "the command has ended")
            assert "secret service" in (folder / "listed").read_text()
            assert "server does not run" in (folder / "denied").read_text()
            await server.start()
            async with server.client() as client:
                assert (await client.wait_task(task, "completed"))["attempt"] == 1
                task, approval = await asked(client, session, "http://new.invalid/")
                await server.stop(signal.SIGKILL)
            await server.start()
            async with server.client() as client:
                await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
                assert (await output(client, session, task)).startswith("502")


@needs_sandbox
async def test_a_machine_without_networks_of_its_own(tmp_path: Path) -> None:
    """S6: `required` fails closed; `auto` confines what it can and says what it cannot."""
    partial = Availability(available.program, network_reason="There are none.")
    async with serving(tmp_path, sandbox="auto", sandbox_profile="strict") as server:
        server.services.runner.agents.confiner.probe = SandboxProbe(lambda: partial)
        session = await strict(server)
        assert (await server.client.ask(session, "[[say Hi]]"))["status"] == "completed"
        row = await server.client.get(f"/api/sessions/{session}")
        assert (row["confinement"], row["unconfinedReason"]) == ("workspace", "There are none.")
        await server.client.call("PATCH", f"/api/sessions/{session}", json={"sandbox": "required"})
        task = await server.client.ask(session, "[[say Hi]]")
        assert task["error"]["code"] == "sandbox_unavailable" and "There are none." in task["error"]["message"]


@needs_network
async def test_the_nearest_profile_counts(tmp_path: Path) -> None:
    """S6: A session's profile overrides its repo's, which overrides the server's; plan is read-only, too."""
    async with serving(tmp_path, sandbox="required") as server:
        client, session = server.client, await strict(server)
        repo = (await client.get(f"/api/sessions/{session}"))["repoId"]

        async def confinement() -> str:
            await client.ask(session, "[[say Hi]]")
            return (await client.get(f"/api/sessions/{session}"))["confinement"]

        assert await confinement() == "workspace"
        await client.call("PATCH", f"/api/repos/{repo}", json={"sandboxProfile": "strict"})
        assert await confinement() == "strict"
        await client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": "plan"})
        assert await confinement() == "strict-read-only"
        await client.call("PATCH", f"/api/sessions/{session}", json={"sandboxProfile": "workspace"})
        assert await confinement() == "read-only"


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(calls, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path, sandbox="auto", max_sessions=20) as tool_host:
        confiner = tool_host.server.services.runner.agents.confiner
        confiner.probe = SandboxProbe(lambda: Availability(None, "There is none."))
        yield tool_host


async def test_no_session_with_more_network_works_for_an_agent(place: ToolServer) -> None:
    """S6: A session that a strict agent creates is strict; prompting a less confined one needs a person."""
    await place.rule("allow", "bough/*")
    parent = await place.session(sandboxProfile="strict")
    agent = await place.agent(parent)
    child = await agent.does("agor_sessions_spawn", prompt="hello", enableCallback=False)
    assert (await place.get(child["sessionId"]))["sandboxProfile"] == "strict"
    weak = await place.child(parent)
    await place.client.call("PATCH", f"/api/sessions/{weak}", json={"sandboxProfile": "workspace"})
    approval = await place.asked_every_time(
        agent, "agor_sessions_prompt", sessionId=weak, prompt="hello", mode="continue"
    )
    assert "confines less than auto, strict" in approval["reason"]


async def test_no_session_with_more_hosts_works_for_an_agent(place: ToolServer) -> None:
    """S6: Neither another agent's model nor an MCP server widens the network of a strict agent, in whatever mode."""
    await place.rule("allow", "bough/*")
    parent = await place.session("bypassPermissions", sandboxProfile="strict")
    agent = await place.agent(parent)
    for tool, arguments in (
        ("agor_sessions_spawn", {"prompt": "hello"}),
        ("agor_sessions_create", {"worktreeId": place.repo_id}),
        ("agor_sessions_prompt", {"sessionId": parent, "prompt": "hello", "mode": "subsession"}),
    ):
        approval = await place.asked_every_time(agent, tool, agenticTool="opencode", **arguments)
        assert "does not allow" in approval["reason"] and "opencode.ai" in approval["reason"]
    server = {"name": "notes", "transport": "http", "url": "http://127.0.0.1:9/mcp"}
    server_id = (await place.client.post("/api/mcp-servers", server))["id"]
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", prompt="hello", mcpServerIds=[server_id])
    assert "127.0.0.1:9" in approval["reason"]
    wide = await place.child(parent)
    await place.client.call("PATCH", f"/api/sessions/{wide}", json={"mcpServerIds": [server_id]})
    arguments = {"sessionId": wide, "prompt": "hello", "mode": "continue"}
    assert "127.0.0.1:9" in (await place.asked_every_time(agent, "agor_sessions_prompt", **arguments))["reason"]
    await place.client.call("PATCH", f"/api/repos/{place.repo_id}", json={"sandboxHosts": ["127.0.0.1:9"]})
    again = {**arguments, "prompt": "hello again"}
    assert (await agent.does("agor_sessions_prompt", **again))["success"] is True
