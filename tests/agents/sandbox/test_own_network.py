"""Tests the plan of a strict box's network, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.agents.network import open_ports
from bough.agents.sandbox.detect import Availability, detect
from bough.agents.sandbox.own_network import PROXY_PORT, plan
from bough.errors import AgentFailed


def test_names_go_through_the_proxy() -> None:
    """S6: The proxy gets the names, and the box one port, to which all usual variables lead."""
    network = plan(["api.example", "*.example.org", "api.example"], [], None)
    assert network.start["hosts"] == ["api.example", "*.example.org"]
    assert [network.start[name] for name in ("services", "trusted", "doors")] == [[], [], []]
    assert network.words[1:4] == ["-I", "-S", open_ports.__file__]
    assert network.words[-1] == f"127.0.0.1/{PROXY_PORT}"
    for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        assert network.env[name] == f"http://127.0.0.1:{PROXY_PORT}"
    assert "127.0.0.1" in network.env["NO_PROXY"]


def test_services_of_this_machine_get_doors() -> None:
    """S6: Bough's tools are open by their path only, and the proxy itself does not lead to this machine."""
    services = ["http://localhost:11434/v1", "https://llm.example/v1", "http://127.0.0.1:4100/evil", "nonsense"]
    network = plan(["127.0.0.1:9000", "10.0.0.5:8080"], services, "http://127.0.0.1:4100/mcp/")
    assert network.start["doors"] == [
        {"target": "127.0.0.1:4100", "path": "/mcp/"},
        {"target": "127.0.0.1:9000", "path": ""},
        {"target": "localhost:11434", "path": ""},
    ]
    assert (network.start["trusted"], network.start["services"]) == (["10.0.0.5:8080"], ["llm.example:443"])
    assert network.tools == "http://127.0.0.1:4100/mcp/"
    ports = f"127.0.0.1/{PROXY_PORT},127.0.0.1/4100,127.0.0.1/9000,127.0.0.1/11434"
    assert network.words[-1] == ports


def test_the_port_of_a_door_is_not_the_proxy_s() -> None:
    """S6: A service at the proxy's usual port keeps it."""
    network = plan([f"localhost:{PROXY_PORT}"], [], "http://[::1]:4100/mcp/")
    assert network.words[-1] == f"127.0.0.1/{PROXY_PORT + 1},127.0.0.1/4100,127.0.0.1/{PROXY_PORT}"
    assert network.env["HTTPS_PROXY"].endswith(f":{PROXY_PORT + 1}")


@pytest.mark.parametrize("host", ["192.168.1.5", "[::1]", "[fd12::5]", "bough.example"])
def test_bough_s_own_port_is_never_open(host: str) -> None:
    """S6: Wherever the server listens, and whoever lists it, only the path of its tools is open."""
    listed = [] if host == "bough.example" else [f"{host}:4100"]
    network = plan(listed, [f"http://{host}:4100/evil"] if listed else [], f"http://{host}:4100/mcp/")
    assert network.start["doors"] == [{"target": f"{host}:4100", "path": "/mcp/"}]
    assert (network.start["trusted"], network.start["services"]) == ([], [])
    assert network.tools == "http://127.0.0.1:4100/mcp/"
    assert network.words[-1] == f"127.0.0.1/{PROXY_PORT},127.0.0.1/4100"


def test_a_path_inside_an_encrypted_connection_cannot_be_opened() -> None:
    """S6: The agent then has no tools of Bough, rather than all of its server."""
    network = plan([], [], "https://bough.example:4100/mcp/")
    assert (network.start["doors"], network.start["trusted"], network.tools) == ([], [], None)


def test_a_local_service_with_an_ipv6_address() -> None:
    """S6: It is reached directly and through the proxy, which programs use for such addresses."""
    network = plan([], ["http://[::1]:9000/"], None)
    assert network.start["doors"] == [{"target": "[::1]:9000", "path": ""}]
    assert network.start["trusted"] == ["[::1]:9000"]


def test_too_many_services() -> None:
    """S6: The error says so, before anything is started."""
    with pytest.raises(AgentFailed, match="at most 60 services"):
        plan([f"localhost:{port}" for port in range(1000, 1061)], [], None)


def test_a_machine_without_networks_for_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: A machine may confine agents but give a box no network of its own."""
    program = _bubblewrap_without(tmp_path, monkeypatch, "--unshare-net")
    reason = "bubblewrap cannot create a network for the sandbox here: no --unshare-net"
    assert detect() == Availability(str(program), network_reason=reason)


def test_a_machine_that_confines_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S6: The reason says what bubblewrap said."""
    _bubblewrap_without(tmp_path, monkeypatch, "--unshare-user")
    available = detect()
    assert available.program is None
    assert "no --unshare-user" in available.reason


def _bubblewrap_without(folder: Path, monkeypatch: pytest.MonkeyPatch, flag: str) -> Path:
    """Puts a bubblewrap that refuses this flag on the path."""
    program = folder / "bwrap"
    program.write_text(f'#!/bin/sh\ncase " $* " in *" {flag} "*) echo "no {flag}" >&2; exit 1;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return program
