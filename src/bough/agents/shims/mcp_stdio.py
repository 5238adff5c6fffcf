"""Passes MCP messages between stdio and an MCP server over HTTP, for agents that take no HTTP servers (5f).

`python -I -m bough.agents.shims.mcp_stdio` reads the address and token from the environment, which no list of processes
shows. It uses only the standard library, because agents start it often and wait for it."""

import contextlib
import http.client
import json
import os
import sys
import threading
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

URL = "BOUGH_MCP_URL"
TOKEN = "BOUGH_MCP_TOKEN"
# Seconds; a tool waits at most 45 for a person.
ANSWER_WITHIN = 300.0
LONGEST_LINE = 64 * 1024 * 1024
# Requests at a time; the rest wait in the pipe.
MOST_REQUESTS = 32
INTERNAL = -32603
PARSE = -32700
# Newer clients name their version in each request. HTTP servers want it, the method and the name as headers too.
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

Json = dict[str, Any]


class Bridge:
    """One agent's connection to the server at `url`."""

    def __init__(self, url: str, token: str, answers: BinaryIO) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname or "", parts.port or (443 if self._secure else 80)
        self._path = parts.path or "/"
        self._token = token
        self._answers = answers
        self._writing = threading.Lock()
        self._open: dict[str, http.client.HTTPConnection] = {}
        self._slots = threading.Semaphore(MOST_REQUESTS)
        self._threads: list[threading.Thread] = []
        # Negotiated by `initialize`.
        self._version: str | None = None

    def run(self, lines: BinaryIO) -> None:
        """Passes messages on until the agent closes its end."""
        while line := lines.readline(LONGEST_LINE):
            if not line.strip():
                continue
            try:
                message = _object(json.loads(line))
            except ValueError:
                self._write({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE, "message": "Parse error"}})
                continue
            self._take(line, message)
        for thread in self._threads:
            thread.join()

    def _take(self, line: bytes, message: Json) -> None:
        if message.get("method") == "notifications/cancelled":
            self._cancel(message.get("params"))
        elif "id" not in message or message.get("method") == "initialize":
            # In order: nothing may overtake the handshake.
            self._post(line, message)
        else:
            self._slots.acquire()
            thread = threading.Thread(target=self._answer, args=(line, message), daemon=True)
            self._threads = [other for other in self._threads if other.is_alive()] + [thread]
            thread.start()

    def _answer(self, line: bytes, message: Json) -> None:
        try:
            self._post(line, message)
        finally:
            self._slots.release()

    def _cancel(self, params: Any) -> None:
        """Closes the connection of a request, which is how the server learns that nobody waits for it."""
        connection = self._open.pop(json.dumps(_object(params).get("requestId")), None)
        if connection is not None and connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(2)

    def _post(self, line: bytes, message: Json) -> None:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=ANSWER_WITHIN)
        key = json.dumps(message["id"]) if "id" in message else None
        if key is not None:
            self._open[key] = connection
        try:
            connection.request("POST", self._path, line, self._headers(message))
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except (OSError, http.client.HTTPException) as error:
            if key is None or key in self._open:
                self._fail(message, f"Bough's server cannot be reached: {error}")
            return
        finally:
            connection.close()
            if key is not None:
                self._open.pop(key, None)
        if "id" in message:
            self._pass_on(message, status, body)

    def _headers(self, message: Json) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        params = _object(message.get("params"))
        version = _object(params.get("_meta")).get(VERSION_KEY)
        if isinstance(version, str):
            headers["Mcp-Method"] = str(message.get("method"))
            name = params.get(NAMES.get(headers["Mcp-Method"], ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        version = version or self._version
        if isinstance(version, str):
            headers["MCP-Protocol-Version"] = version
        return {name: value for name, value in headers.items() if value.isascii() and value.isprintable()}

    def _pass_on(self, message: Json, status: int, body: bytes) -> None:
        try:
            answer = _object(json.loads(body))
        except ValueError:
            answer = {}
        if "jsonrpc" not in answer:
            self._fail(message, f"Bough's server answered with status {status}.")
            return
        if message.get("method") == "initialize":
            self._version = _object(answer.get("result")).get("protocolVersion")
        # An error of the transport has no id.
        self._write({**answer, "id": message["id"]})

    def _fail(self, message: Json, text: str) -> None:
        if "id" in message:
            error = {"code": INTERNAL, "message": text}
            self._write({"jsonrpc": "2.0", "id": message["id"], "error": error})

    def _write(self, answer: Json) -> None:
        line = json.dumps(answer, separators=(",", ":")).encode() + b"\n"
        with self._writing, contextlib.suppress(BrokenPipeError):
            self._answers.write(line)
            self._answers.flush()


def _object(value: Any) -> Json:
    """Returns a decoded object; an empty one for anything else."""
    return cast("Json", value) if isinstance(value, dict) else {}


def serve(url: str, token: str) -> None:
    """Serves the tools at `url` on stdin and stdout until stdin ends."""
    Bridge(url, token, sys.stdout.buffer).run(sys.stdin.buffer)


def main() -> int:
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not url or not token:
        print(f"Set {URL} and {TOKEN}.", file=sys.stderr)
        return 2
    serve(url, token)
    return 0


if __name__ == "__main__":
    sys.exit(main())
