"""Tests how hosts are read and compared, and which addresses are public."""

from __future__ import annotations

import pytest

from bough.agents.network.hosts import (
    BadHost,
    HostList,
    Target,
    is_endpoint,
    is_public,
    parse_pattern,
    parse_patterns,
    parse_target,
    target_of_url,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("api.example.com:443", Target("api.example.com", 443)),
        ("API.Example.COM.:8443", Target("api.example.com", 8443)),
        ("127.0.0.1:80", Target("127.0.0.1", 80)),
        ("[::1]:80", Target("::1", 80)),
        ("xn--bcher-kva.example:443", Target("xn--bcher-kva.example", 443)),
    ],
)
def test_targets_are_read(text: str, target: Target) -> None:
    """S6: Names in any case, with a final dot, and usual addresses."""
    assert parse_target(text) == target


@pytest.mark.parametrize(
    "text",
    [
        *("", ":443", "example.com", "example.com:", "example.com:0", "example.com:65536", "example.com:+1"),
        *("127.1:80", "2130706433:80", "0x7f000001:80", "0177.0.0.1:80", "a.0x1:80", "::1:80", "[::1:80", "[x]:80"),
        *("bücher.example:443", "a b.example:443", "a..example:443", "-a.example:443", "a\n.example:443", "x/y:80"),
        f"{'a' * 64}.example:443",
        f"{'a.' * 127}example:443",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    """S6: Whatever resolvers could read in two ways names no host."""
    with pytest.raises(BadHost):
        parse_target(text)


def test_patterns_match_exactly_or_below_a_domain() -> None:
    """S6: A wildcard covers every name below its domain and not the domain itself; a port must be the same."""
    hosts = HostList(parse_patterns("api.example.com, *.Example.org other.example:8443 *.deep.example.net:22"))
    allowed = ["api.example.com:443", "api.example.com:80", "a.example.org:443", "b.a.example.org:80"]
    allowed += ["other.example:8443", "x.deep.example.net:22"]
    assert all(parse_target(text) in hosts for text in allowed)
    denied = [
        "example.com:443",
        "x.api.example.com:443",
        "api.example.com:22",
        "example.org:443",
        "evilexample.org:443",
    ]
    denied += ["a.example.org.evil.example:443", "other.example:443", "x.deep.example.net:443", "org:443"]
    assert not any(parse_target(text) in hosts for text in denied)


def test_addresses_are_on_no_list() -> None:
    """S6: A list of names never allows an address, even if it contains one."""
    assert parse_target("10.0.0.5:80") not in HostList(["10.0.0.5", "10.0.0.5:80", "*.0.0.5"])


@pytest.mark.parametrize("text", ["*", "*.com", "*.", "a.*.example.com", "http://example.com", "localhost", "10.0.0.1"])
def test_bad_patterns_say_why(text: str) -> None:
    """S6: What is no host is refused, also a wildcard for everything."""
    with pytest.raises(BadHost, match="is not a host"):
        parse_patterns(text)


def test_endpoints_need_a_port() -> None:
    """S6: An address or localhost is allowed with its port only."""
    assert [parse_pattern(text) for text in ("localhost:11434", "127.0.0.1:80", "[::1]:443")] == [
        *("localhost:11434", "127.0.0.1:80", "[::1]:443"),
    ]
    assert [is_endpoint(text) for text in ("localhost:1", "[::1]:443", "10.0.0.1:2", "a.example", "*.b.example:3")] == [
        *(True, True, True, False, False),
    ]


def test_urls_name_targets() -> None:
    """S6: The addresses of model servers, with the usual port of their scheme."""
    assert target_of_url("https://llm.example/v1") == Target("llm.example", 443)
    assert target_of_url("http://user:secret@127.0.0.1:8080/x") == Target("127.0.0.1", 8080)
    assert target_of_url("http://[::1]/x") == Target("::1", 80)
    assert [target_of_url(url) for url in ("", "nonsense", "ftp://x.example/", "http://x.example:99999/")] == [None] * 4


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111", "::ffff:93.184.215.14", "64:ff9b::808:808"])
def test_public_addresses(address: str) -> None:
    """S6: Addresses of the internet, also those inside others."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
        ),
        *("224.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::", "nonsense", ""),
    ],
)
def test_other_addresses(address: str) -> None:
    """S6: Loopback, private, link-local, shared and multicast addresses, in every disguise."""
    assert not is_public(address)
