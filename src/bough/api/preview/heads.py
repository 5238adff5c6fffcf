"""Rewrites the heads of requests and answers between a browser and what it previews. A connection carries one exchange,
so that nothing after a head needs to be understood."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from bough.agents.network.http_head import TOKEN, BadRequest, Request

# Headers that concern one connection. `Upgrade` is kept for WebSockets.
_HOPS = frozenset({"connection", "keep-alive", "proxy-connection", "proxy-authorization", "te", "trailer", "host"})
# What the app says about frames is replaced, and what it says about encryption would concern all of this machine.
_DROPPED = frozenset({"connection", "keep-alive", "x-frame-options", "strict-transport-security"})
_POLICIES = frozenset({"content-security-policy", "content-security-policy-report-only"})
# Bough's own tokens and cookies, which no app may see.
_OWN_TOKEN = re.compile(r"\bbough[-_.]")
_STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: |$)")
# Browsers leave out spaces around the name of a cookie's attribute.
_DOMAIN = re.compile(r";\s*domain\s*(?:=[^;]*)?(?=;|$)", re.IGNORECASE)
# Browsers would read a line of its own behind each of them.
_BREAKS = re.compile(r"[\r\n\0]")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})
SWITCHING = 101


class AnswerHead(NamedTuple):
    """The head of an answer: its first line, status and headers."""

    line: str
    status: int
    headers: list[tuple[str, str]]


def host_of(request: Request) -> str:
    """Returns the host that a request names, in lower case. Raises `BadRequest` unless there is exactly one."""
    hosts = [value for name, value in request.headers if name.lower() == "host"]
    if len(hosts) != 1 or not request.target.startswith("/"):
        raise BadRequest("A request needs one Host header and a path.")
    return hosts[0].lower()


def is_upgrade(request: Request) -> bool:
    """Returns whether a request opens a WebSocket."""
    return any(name.lower() == "upgrade" and value.lower() == "websocket" for name, value in request.headers)


def request_head(request: Request, origin: str, port: int) -> bytes:
    """Returns the head for the app: as if the browser had asked it directly, without anything of Bough."""
    own = f"http://localhost:{port}"
    lines = [f"{request.method} {request.target} HTTP/1.1", f"Host: localhost:{port}"]
    for name, value in request.headers:
        kind = name.lower()
        if kind in _HOPS or (kind == "upgrade" and not is_upgrade(request)):
            continue
        if kind == "cookie":
            cookies = [part for part in value.split(";") if not _OWN_TOKEN.match(part.strip())]
            if cookies:
                lines.append(f"{name}: {';'.join(cookies).strip()}")
        elif kind in ("authorization", "sec-websocket-protocol") and _OWN_TOKEN.search(value):
            continue
        elif kind in ("origin", "referer") and (value == origin or value.startswith(f"{origin}/")):
            lines.append(f"{name}: {own}{value.removeprefix(origin)}")
        else:
            lines.append(f"{name}: {value}")
    lines.append("Connection: Upgrade" if is_upgrade(request) else "Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def parse_answer(head: bytes) -> AnswerHead:
    """Parses the head of an answer. Raises `BadRequest` if it is none."""
    line, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    status = _STATUS.match(line)
    if status is None or _BREAKS.search(line):
        raise BadRequest("The answer is not HTTP.")
    headers: list[tuple[str, str]] = []
    for text in lines:
        name, colon, value = text.partition(":")
        if not colon or TOKEN.fullmatch(name.strip()) is None or _BREAKS.search(value):
            raise BadRequest("A header of the answer is malformed.")
        headers.append((name.strip(), value.strip(" \t")))
    return AnswerHead(line, int(status[1]), headers)


def answer_head(answer: AnswerHead, origin: str, port: int, framers: list[str]) -> bytes:
    """Returns the head for the browser. Only Bough's page, at the addresses in `framers`, may show it in a frame."""
    lines = [answer.line]
    for name, value in answer.headers:
        kind = name.lower()
        if kind in _DROPPED and not (kind == "connection" and answer.status == SWITCHING):
            continue
        if kind == "location":
            value = _moved(value, origin, port)
        elif kind in _POLICIES:
            value = _without_framers(value)
            if not value:
                continue
        elif kind == "set-cookie":
            value = _DOMAIN.sub("", value)
        lines.append(f"{name}: {value}")
    if answer.status != SWITCHING:
        lines.append(f"Content-Security-Policy: frame-ancestors 'self' {' '.join(framers)}".rstrip())
        if not any(name.lower() == "referrer-policy" for name, _ in answer.headers):
            lines.append("Referrer-Policy: same-origin")
        lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _without_framers(policies: str) -> str:
    """Returns the app's policies without what they say about frames."""
    others = ("; ".join(_other_rules(policy)) for policy in policies.split(","))
    return ", ".join(policy for policy in others if policy)


def _other_rules(policy: str) -> list[str]:
    rules = (rule.strip() for rule in policy.split(";"))
    return [rule for rule in rules if rule and rule.split()[0].lower() != "frame-ancestors"]


def _moved(location: str, origin: str, port: int) -> str:
    """Returns where a redirect leads: an address of the app itself is one of its preview."""
    try:
        parts = urlsplit(location)
        is_own = parts.scheme == "http" and parts.hostname in LOOPBACK_NAMES and parts.port == port
    except ValueError:
        return location
    return origin + location.partition(parts.netloc)[2] if is_own else location
