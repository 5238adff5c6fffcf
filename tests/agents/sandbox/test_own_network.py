"""Tests the plan of a strict box's network, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.agents.network import open_ports
from bough.agents.sandbox.detect import Availability, detect
from bough.agents.sandbox.own_network import PROXY_PORT, plan


def test_names_go_through_the_proxy() -> None:
    """S6: The proxy gets the names, and the box one port, to which all usual variables lead."""
    network = plan(["api.example", "*.example.org", "api.example"], [], None)
    assert network.start == {"hosts": ["api.example", "*.example.org"], "trusted": [], "doors": []}
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
    assert network.start["trusted"] == ["10.0.0.5:8080", "llm.example:443"]
    ports = f"127.0.0.1/{PROXY_PORT},127.0.0.1/4100,127.0.0.1/9000,127.0.0.1/11434"
    assert network.words[-1] == ports


def test_the_port_of_a_door_is_not_the_proxy_s() -> None:
    """S6: A service at the proxy's usual port keeps it."""
    network = plan([f"localhost:{PROXY_PORT}"], [], "http://[::1]:4100/mcp/")
    assert network.words[-1] == f"127.0.0.1/{PROXY_PORT + 1},::1/4100,127.0.0.1/{PROXY_PORT}"
    assert network.env["HTTPS_PROXY"].endswith(f":{PROXY_PORT + 1}")


@pytest.mark.parametrize("broken", ["--unshare-net", "--unshare-user"])
def test_what_a_machine_cannot_do_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """S6: A machine may give a box no network of its own, or confine no agent at all."""
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\ncase " $* " in *" {broken} "*) echo "no {broken}" >&2; exit 1;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    available = detect()
    if broken == "--unshare-user":
        assert available.program is None and f"no {broken}" in available.reason
    else:
        reason = f"bubblewrap cannot create a network for the sandbox here: no {broken}"
        assert available == Availability(str(program), network_reason=reason)
