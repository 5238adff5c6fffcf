"""Calls the REST API: one request, one answer, and the server's errors as exceptions. It uses the standard library's
HTTP client, which imports in a fifth of the time of a larger one; `stream` reads events."""

from __future__ import annotations

import functools
import http.client
import json
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from bough.api.cli.framework.find_server import ServerTarget
from bough.errors import BoughError, NotFound

Json = dict[str, Any]

# Seconds; a local server answers at once, a remote one may take a moment.
CONNECT_WITHIN = 10.0
# Stopping a turn waits up to half a minute for the agent, and a purge may follow a stop.
ANSWER_WITHIN = 120.0
# Creating a worktree clones its submodules and runs its setup.
SETUP_WITHIN = 3600.0


class Refused(BoughError):
    """An error response of the server; `body` is its JSON as received."""

    def __init__(self, code: str, message: str, status: int, body: bytes, details: Json | None = None) -> None:
        super().__init__(code, message)
        self.details = details or {}
        self.status = status
        self.body = body


class Response:
    """A response: its raw JSON, decoded on demand."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @functools.cached_property
    def value(self) -> Any:
        return json.loads(self.raw)


class Client:
    """Calls the server, which is looked up for each request."""

    def __init__(self, target: ServerTarget) -> None:
        self.target = target

    def get(self, path: str, **query: Any) -> Response:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Json | None = None, within: float = ANSWER_WITHIN) -> Response:
        return self.call("POST", path, body=body or {}, within=within)

    def patch(self, path: str, body: Json) -> Response:
        return self.call("PATCH", path, body=body)

    def delete(self, path: str, **query: Any) -> Response:
        return self.call("DELETE", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        query: Json | None = None,
        within: float = ANSWER_WITHIN,
    ) -> Response:
        """Sends one request and returns its answer; query values that are None are omitted."""
        parameters = {name: _query_value(value) for name, value in (query or {}).items() if value is not None}
        address = f"{path}?{urlencode(parameters)}" if parameters else path
        connection, headers, base = self.connect(CONNECT_WITHIN)
        data = None
        if body is not None:
            # Lone surrogates (bytes from the terminal that are not UTF-8) are sent as escapes; the server rejects them.
            data = json.dumps(body).encode("ascii")
            headers["content-type"] = "application/json"
        try:
            connection.connect()
            connection.sock.settimeout(within)
            connection.request(method, base + address, data, headers)
            response = connection.getresponse()
            raw = response.read()
        except OSError as error:
            raise self._unreachable(connection, error) from error
        except http.client.HTTPException as error:
            raise NotFound("bad_answer", f"The server at this address is not Bough: {error!r}.") from error
        finally:
            connection.close()
        check(response.status, raw)
        return Response(raw)

    def connect(self, timeout: float) -> tuple[http.client.HTTPConnection, dict[str, str], str]:
        """Returns a connection that is not open yet, the headers of every request, and the prefix of all paths."""
        url, token = self.target.find()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise NotFound("bad_url", f"{url!r} is not a server address; it must start with http:// or https://.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        except ValueError as error:
            raise NotFound("bad_url", f"{url!r} is not a server address.") from error
        return connection, {"authorization": f"Bearer {token}"}, parts.path

    def _unreachable(self, connection: http.client.HTTPConnection, error: OSError) -> NotFound:
        if isinstance(error, ConnectionRefusedError) or connection.sock is None:
            return self.target.not_running()
        return NotFound(
            "connection_lost",
            f"The connection was lost ({error}). Check whether the server has done what you asked.",
        )


def check(status: int, raw: bytes) -> None:
    """Raises the error that the server reports, if any."""
    if status < 400:
        return
    try:
        error: Json = json.loads(raw)["error"]
        code, message = str(error["code"]), str(error["message"])
        details = part(error, "details")
    except (ValueError, KeyError, TypeError):
        raise NotFound("bad_answer", f"The server at this address is not Bough: it answered {status}.") from None
    raise Refused(code, message, status, raw, details)


def path(*parts: str) -> str:
    """Returns an API path with its parts URL-encoded."""
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


def part(record: Json, name: str) -> Json:
    """Returns an object inside a record; empty if it is missing or not an object."""
    value = record.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def parts(record: Json, name: str) -> list[Json]:
    """Returns the objects in a list inside a record."""
    value = record.get(name)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Json", item) for item in items if isinstance(item, dict)]


def _query_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
