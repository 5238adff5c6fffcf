"""The REST client of the command line: one call, one answer, the server's refusals as errors. The standard library's
HTTP is enough for that and starts in a fifth of the time; the event stream is `stream`."""

from __future__ import annotations

import functools
import http.client
import json
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from bough.api.cli.framework.target import Place
from bough.errors import BoughError, NotFound

Json = dict[str, Any]

# A server on this machine answers at once; one behind a network may need a moment.
CONNECT_WITHIN = 10.0
# Stopping a turn waits up to half a minute for the agent, and a purge may follow a stop.
ANSWER_WITHIN = 120.0
# A worktree is made, its submodules are cloned, its setup runs.
SETUP_WITHIN = 3600.0


class Refused(BoughError):
    """The server said no; `body` is its answer as it came."""

    def __init__(self, code: str, message: str, status: int, body: bytes, details: Json | None = None) -> None:
        super().__init__(code, message)
        self.details = details or {}
        self.status = status
        self.body = body


class Answer:
    """An answer as it came, and what it says."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @functools.cached_property
    def value(self) -> Any:
        return json.loads(self.raw)


class Client:
    """Calls the server that is found at the moment of each call."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def get(self, path: str, **query: Any) -> Answer:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Json | None = None, within: float = ANSWER_WITHIN) -> Answer:
        return self.call("POST", path, body=body or {}, within=within)

    def patch(self, path: str, body: Json) -> Answer:
        return self.call("PATCH", path, body=body)

    def delete(self, path: str, **query: Any) -> Answer:
        return self.call("DELETE", path, query=query)

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        query: Json | None = None,
        within: float = ANSWER_WITHIN,
    ) -> Answer:
        """One request; query values that are None are left out."""
        given = {name: _written(value) for name, value in (query or {}).items() if value is not None}
        address = f"{path}?{urlencode(given)}" if given else path
        connection, headers, base = self.connect(CONNECT_WITHIN)
        data = None
        if body is not None:
            # Lone surrogates (bytes of the terminal that are no UTF-8) go as escapes; the server says what it thinks.
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
            raise NotFound("bad_answer", f"What answers there is not Bough: {error!r}.") from error
        finally:
            connection.close()
        check(response.status, raw)
        return Answer(raw)

    def connect(self, timeout: float) -> tuple[http.client.HTTPConnection, dict[str, str], str]:
        """A connection that is not open yet, the headers that every request carries, and what paths begin with."""
        url, token = self.place.find()
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise NotFound("bad_url", f"{url!r} is not the address of a server: that begins with http:// or https://.")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        except ValueError as error:
            raise NotFound("bad_url", f"{url!r} is not the address of a server.") from error
        return connection, {"authorization": f"Bearer {token}"}, parts.path

    def _unreachable(self, connection: http.client.HTTPConnection, error: OSError) -> NotFound:
        if isinstance(error, ConnectionRefusedError) or connection.sock is None:
            return self.place.nobody()
        return NotFound(
            "connection_lost", f"The connection broke before the answer came ({error}): it may have been done or not."
        )


def check(status: int, raw: bytes) -> None:
    """Raises what the server says is wrong."""
    if status < 400:
        return
    try:
        error: Json = json.loads(raw)["error"]
        code, message = str(error["code"]), str(error["message"])
        details = part(error, "details")
    except (ValueError, KeyError, TypeError):
        raise NotFound("bad_answer", f"What answers there is not Bough: it said {status}.") from None
    raise Refused(code, message, status, raw, details)


def path(*parts: str) -> str:
    """A path of the API, its parts made safe."""
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


def part(record: Json, name: str) -> Json:
    """An object inside a record; empty if it is not there, or something else."""
    found = record.get(name)
    return cast("Json", found) if isinstance(found, dict) else {}


def parts(record: Json, name: str) -> list[Json]:
    """The objects in a list inside a record."""
    found = record.get(name)
    inner = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("Json", one) for one in inner if isinstance(one, dict)]


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
