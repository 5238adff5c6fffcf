"""Tests how hosts are read and compared."""

from __future__ import annotations

import pytest

from bough.agents.network.hosts import (
    BadHost,
    HostAndPort,
    HostList,
    is_endpoint,
    parse_pattern,
    parse_patterns,
    parse_target,
    target_of_url,
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("api.example.com:443", HostAndPort("api.example.com", 443)),
        ("API.Example.COM.:8443", HostAndPort("api.example.com", 8443)),
        ("127.0.0.1:80", HostAndPort("127.0.0.1", 80)),
        ("[::1]:80", HostAndPort("::1", 80)),
        ("xn--bcher-kva.example:443", HostAndPort("xn--bcher-kva.example", 443)),
    ],
)
def test_targets_are_read(text: str, target: HostAndPort) -> None:
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


def test_a_written_port_counts() -> None:
    """S6: `host:443` does not open port 80; `host` opens both usual ports."""
    hosts = HostList(parse_patterns("tls.example:443 *.plain.example:80"))
    assert parse_target("tls.example:443") in hosts and parse_target("a.plain.example:80") in hosts
    assert parse_target("tls.example:80") not in hosts and parse_target("a.plain.example:443") not in hosts


def test_internal_hosts() -> None:
    """S6: A person can list hosts of a private network, by name only."""
    hosts = HostList(parse_patterns("internal:Git.example internal:*.corp.example:8443 public.example"))
    assert parse_target("git.example:443") in hosts and hosts.has_internal(parse_target("git.example:80"))
    assert hosts.has_internal(parse_target("a.corp.example:8443"))
    assert parse_target("public.example:443") in hosts and not hosts.has_internal(parse_target("public.example:443"))
    for text in ("internal:10.0.0.5:80", "internal:localhost:80", "internal:internal:git.example", "internal:8080"):
        with pytest.raises(BadHost):
            parse_pattern(text)


def test_a_list_covers_patterns() -> None:
    """S6: A pattern is covered only if everything that it allows is on the list."""
    own = HostList(parse_patterns("api.example *.org.example git.example:22 internal:*.corp.example 10.0.0.5:80"))
    covered = ["api.example", "api.example:443", "a.org.example", "*.b.org.example:80", "git.example:22"]
    covered += ["10.0.0.5:80", "internal:a.corp.example", "a.corp.example"]
    assert all(own.covers(pattern) for pattern in covered)
    beyond = ["api.example:8443", "*.example", "org.example", "git.example", "10.0.0.5:81", "internal:api.example"]
    assert not any(own.covers(pattern) for pattern in beyond)


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
    assert target_of_url("https://llm.example/v1") == HostAndPort("llm.example", 443)
    assert target_of_url("http://user:secret@127.0.0.1:8080/x") == HostAndPort("127.0.0.1", 8080)
    assert target_of_url("http://[::1]/x") == HostAndPort("::1", 80)
    assert [target_of_url(url) for url in ("", "nonsense", "ftp://x.example/", "http://x.example:99999/")] == [None] * 4
