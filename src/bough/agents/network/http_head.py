"""Reads the head of a request to the proxy, and writes the heads that the proxy itself sends."""

import asyncio
import re
from typing import NamedTuple
from urllib.parse import urlsplit

from bough.agents.network.hosts import BadHost, HostAndPort, parse_target

HEAD_LIMIT = 64 * 1024
"""Bytes of a request's head; clients send a few kilobytes."""
VERSIONS = ("HTTP/1.0", "HTTP/1.1")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Headers between the client and the proxy, which the host does not get. The proxy sets the last two itself.
OWN_HEADERS = ("proxy-authorization", "proxy-connection", "keep-alive", "te", "trailer", "connection", "host")
REASONS = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


class BadRequest(ValueError):
    """A request that the proxy does not understand, with a sentence for the program that sent it."""


class Request(NamedTuple):
    """A request: its method, its target as written, and its headers in order."""

    method: str
    target: str
    headers: list[tuple[str, str]]

    def has(self, name: str) -> bool:
        """Returns whether there is a header with this name in lower case."""
        return any(header.lower() == name for header, _ in self.headers)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Reads the head of a request. Returns None if the client closed the connection before it sent one."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise BadRequest("The request ended in the middle of its head.") from error
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest(f"The head of a request may have at most {HEAD_LIMIT} bytes.") from error
    return parse_request(head)


def parse_request(head: bytes) -> Request:
    """Parses a head, strictly: whatever servers could read in two ways is refused."""
    # Latin-1 keeps every byte as it is, for values that are passed on.
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").lstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or TOKEN.fullmatch(words[0]) is None or words[2] not in VERSIONS:
        raise BadRequest("The first line is not one of HTTP/1.1.")
    if not words[1].isascii() or not words[1].isprintable():
        raise BadRequest("The address of a request must be printable.")
    headers: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or TOKEN.fullmatch(name) is None or any(mark in value for mark in "\r\n\0"):
            raise BadRequest("A header is malformed.")
        headers.append((name, value.strip(" \t")))
    return Request(words[0], words[1], headers)


def connect_target(request: Request) -> HostAndPort:
    """Returns the target of a CONNECT request."""
    try:
        return parse_target(request.target)
    except BadHost as error:
        raise BadRequest(str(error)) from error


def plain_target(request: Request) -> HostAndPort:
    """Returns the target of a request for `http://host/path`."""
    scheme, separator, _ = request.target.partition("://")
    if not separator:
        raise BadRequest("This is a proxy: ask it for a whole address, such as http://example.com/.")
    if scheme.lower() != "http":
        raise BadRequest("This proxy takes http:// addresses; use CONNECT for all others.")
    try:
        return parse_target(urlsplit(request.target).netloc.rpartition("@")[2], 80)
    except ValueError as error:
        raise BadRequest(str(error)) from error


def origin_head(request: Request, target: HostAndPort, path: str) -> bytes:
    """Returns the head for the host itself. It names the host that was allowed, and ends the connection with the
    answer, so that no second request follows the first."""
    host = target.endpoint.removesuffix(":80")
    headers = [(name, value) for name, value in request.headers if name.lower() not in OWN_HEADERS]
    lines = [f"{request.method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode("latin-1")


def origin_path(request: Request) -> str:
    """Returns the path of a request for a whole address."""
    parts = urlsplit(request.target)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def refusal(status: int, text: str) -> bytes:
    """Returns an answer with a sentence for whoever reads the program's output."""
    body = f"{text}\n".encode()
    lines = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "X-Bough-Sandbox: blocked",
        "Connection: close",
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body
