"""Tests the heads of requests: what the proxy understands, refuses and passes on."""

from __future__ import annotations

import pytest

from bough.agents.network import http_head
from bough.agents.network.hosts import HostAndPort
from bough.agents.network.http_head import BadRequest, parse_request


def test_a_plain_request_is_rewritten() -> None:
    """S6: The host gets the path, its own name and no header that was meant for the proxy."""
    request = parse_request(
        b"POST http://user@Example.com:8080/a?b=c HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: Basic eA==\r\n"
        b"Connection: keep-alive\r\nX-Mine: \xe4\r\nContent-Length: 2\r\n\r\n"
    )
    target = http_head.plain_target(request)
    assert target == HostAndPort("example.com", 8080)
    assert http_head.origin_head(request, target, http_head.origin_path(request)) == (
        b"POST /a?b=c HTTP/1.1\r\nHost: example.com:8080\r\nX-Mine: \xe4\r\nContent-Length: 2\r\n"
        b"Connection: close\r\n\r\n"
    )


def test_the_usual_port_is_not_part_of_the_host() -> None:
    """S6: `http://example.com` is port 80 of a host without a port, and its top folder."""
    request = parse_request(b"GET http://example.com HTTP/1.1\r\n\r\n")
    target = http_head.plain_target(request)
    head = http_head.origin_head(request, target, http_head.origin_path(request))
    assert head.startswith(b"GET / HTTP/1.1\r\nHost: example.com\r\n")


def test_a_tunnel_names_host_and_port() -> None:
    """S6: CONNECT takes `host:port` and nothing else."""
    assert http_head.connect_target(parse_request(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")).port == 443
    for target in (b"a.example", b"http://a.example/", b"a.example:443/x", b"x@a.example:443"):
        with pytest.raises(BadRequest):
            http_head.connect_target(parse_request(b"CONNECT " + target + b" HTTP/1.1\r\n\r\n"))


@pytest.mark.parametrize(
    "head",
    [
        *(
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET / HTTP/2\r\n\r\n",
            b"GET  / HTTP/1.1\r\n\r\n",
            b"G\x00T / HTTP/1.1\r\n\r\n",
        ),
        *(
            b"GET / HTTP/1.1\r\nNo colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
            b"GET / HTTP/1.1\r\n folded: x\r\n\r\n",
        ),
        *(
            b"GET / HTTP/1.1\r\nA: b\nEvil: c\r\n\r\n",
            b"GET /\xe4 HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n",
        ),
    ],
)
def test_malformed_heads_are_refused(head: bytes) -> None:
    """S6: Whatever servers could read in two ways is refused."""
    with pytest.raises(BadRequest):
        parse_request(head)


@pytest.mark.parametrize(
    "target", [b"/x", b"https://a.example/", b"ftp://a.example/", b"http://", b"http://a.example:x/"]
)
def test_only_whole_addresses_are_proxied(target: bytes) -> None:
    """S6: A request for a path, or with another scheme, is no request to a proxy."""
    with pytest.raises(BadRequest):
        http_head.plain_target(parse_request(b"GET " + target + b" HTTP/1.1\r\n\r\n"))
