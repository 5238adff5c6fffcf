"""Reads host names as programs and people write them, and compares them with patterns."""

import ipaddress
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

WEB_PORTS = (80, 443)
"""The ports that a pattern without a port allows."""
LONGEST_NAME = 253
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""The last label of what resolvers read as an address, such as `127.1` or `0x7f000001`."""
PORT = re.compile(r"[0-9]{1,5}")
PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
INTERNAL = "internal:"
"""Begins a pattern whose hosts may have addresses of private networks."""


class BadHost(ValueError):
    """A text that names no host, with a sentence that says why."""


class HostAndPort(NamedTuple):
    """The host and port of a connection. The host is a name in lower case, or an address."""

    host: str
    port: int

    @property
    def name(self) -> str:
        """The name under which people allow the target: its port is part of it, unless it is a usual one."""
        return self.host if self.port in WEB_PORTS else self.endpoint

    @property
    def endpoint(self) -> str:
        """The host and the port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_target(text: str, default_port: int | None = None) -> HostAndPort:
    """Reads `host:port`; addresses are accepted, IPv6 ones in brackets. Raises `BadHost`."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise BadHost("An IPv6 address must be in brackets.")
        return HostAndPort(_address(host), _port(rest[1:] if rest else None, default_port))
    host, colon, port = text.partition(":")
    return HostAndPort(parse_host(host), _port(port if colon else None, default_port))


def target_of_url(url: str) -> HostAndPort | None:
    """Returns the host and port of a URL; None if it has none that could be reached."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme)
        if not parts.hostname or port is None:
            return None
        host = parts.hostname
        return parse_target(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except ValueError:
        return None


def parse_host(text: str) -> str:
    """Returns a host name in lower case and without the final dot, or an address. Raises `BadHost`."""
    host = text.lower().removesuffix(".")
    if is_address(host):
        return _address(host)
    labels = host.split(".")
    if len(host) > LONGEST_NAME or not all(LABEL.fullmatch(label) for label in labels):
        raise BadHost("A host name has letters, digits, hyphens and dots; other letters are written as xn--….")
    return host


def is_address(host: str) -> bool:
    """Returns whether resolvers read a host as an address, in whatever spelling."""
    return ":" in host or NUMBER.fullmatch(host.rpartition(".")[2]) is not None


def is_loopback(host: str) -> bool:
    """Returns whether a host is this machine itself, by its name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_pattern(text: str) -> str:
    """Returns a pattern in its usual form: `host`, `*.domain`, either with `:port` or with `internal:` before it, or
    an endpoint: an address or `localhost` with its port. Raises `BadHost`."""
    pattern = text.strip().lower()
    if pattern.startswith(INTERNAL):
        name = parse_pattern(pattern.removeprefix(INTERNAL))
        if name.startswith(INTERNAL) or is_endpoint(name):
            raise BadHost("Only a name can be internal. List an address with its port, such as 10.0.0.5:8080.")
        return f"{INTERNAL}{name}"
    wildcard = pattern.startswith("*.")
    host, colon, port = pattern.removeprefix("*.").partition(":")
    if pattern.startswith("[") or is_address(host) or is_loopback(host):
        if wildcard or not (colon or "]:" in pattern):
            raise BadHost("An address or localhost needs a port, such as localhost:11434.")
        return parse_target(pattern).endpoint
    name = parse_host(host)
    if wildcard and "." not in name:
        raise BadHost("A wildcard needs a domain with a dot, such as *.example.com.")
    return f"{'*.' if wildcard else ''}{name}{f':{_port(port, None)}' if colon else ''}"


def parse_patterns(text: str) -> list[str]:
    """Reads patterns that are separated by commas or spaces. Raises `BadHost`, which names the wrong one."""
    patterns: list[str] = []
    for word in text.replace(",", " ").split():
        try:
            patterns.append(parse_pattern(word))
        except BadHost as error:
            raise BadHost(f"{word!r} is not a host: {error}") from error
    return patterns


def is_endpoint(pattern: str) -> bool:
    """Returns whether a pattern is an endpoint: an address or `localhost`, with a port."""
    host = pattern[1:].partition("]")[0] if pattern.startswith("[") else pattern.partition(":")[0]
    return is_address(host) or is_loopback(host)


class HostList:
    """Patterns of allowed hosts."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        listed = list(patterns)
        self._internal = {pattern.removeprefix(INTERNAL) for pattern in listed if pattern.startswith(INTERNAL)}
        self._names = {pattern.removeprefix(INTERNAL) for pattern in listed}

    def __contains__(self, target: HostAndPort) -> bool:
        """Returns whether a target is allowed: by its own name, or by a wildcard for a domain above it."""
        return _matches(target, self._names)

    def has_internal(self, target: HostAndPort) -> bool:
        """Returns whether a target may also have an address of a private network."""
        return _matches(target, self._internal)

    def covers(self, pattern: str) -> bool:
        """Returns whether everything that a pattern allows is on this list."""
        names = self._internal if pattern.startswith(INTERNAL) else self._names
        if is_endpoint(pattern):
            return pattern in names
        host, _, port = pattern.removeprefix(INTERNAL).partition(":")
        return any(spelling in names for spelling in _spellings(host, int(port) if port else None))


def _matches(target: HostAndPort, names: set[str]) -> bool:
    if is_address(target.host):
        return False
    return any(spelling in names for spelling in _spellings(target.host, target.port))


def _spellings(host: str, port: int | None) -> list[str]:
    """Returns the patterns that allow a host at a port, or at both usual ports without one."""
    suffixes = [] if port is None else [f":{port}"]
    if port is None or port in WEB_PORTS:
        suffixes.append("")
    labels = host.removeprefix("*.").split(".")
    above = [f"*.{'.'.join(labels[cut:])}" for cut in range(1, len(labels) - 1)]
    return [f"{name}{suffix}" for name in (host, *above) for suffix in suffixes]


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise BadHost("This is neither a host name nor a usual spelling of an address.") from error


def _port(text: str | None, default: int | None) -> int:
    if text is None and default is not None:
        return default
    if text is None or PORT.fullmatch(text) is None or not 0 < int(text) < 65536:
        raise BadHost("A port is a number from 1 to 65535.")
    return int(text)
