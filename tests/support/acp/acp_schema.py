"""Checks lines of the Agent Client Protocol against the schema that its authors publish, in both directions.
It leaves sending, receiving and the meaning of messages to others, and does not fetch the schema.

    schema, pending = AcpSchema.load(), {}
    schema.check_client_line(request, pending)
    schema.check_agent_line(response, pending)

`pending` belongs to one connection: requests are noted in it, a response takes the entry of its request out.
"""

import functools
import os
from pathlib import Path
from typing import Any, Literal, Self, cast

import jsonschema_rs
import msgspec

Json = dict[str, Any]
RequestId = int | str | None
Side = Literal["client", "agent"]
# Key: the side that asked, and the request's id (each direction numbers its own requests). Value: the method.
Pending = dict[tuple[Side, RequestId], str]

DEFAULT_FOLDER = Path(__file__).parents[3] / ".cache/acp/node_modules/@agentclientprotocol/sdk/schema/v1"
_OTHER: dict[Side, Side] = {"client": "agent", "agent": "client"}
_ENVELOPE = {"jsonrpc", "id", "method", "params", "result", "error"}
_COMPOSED = {"$ref", "allOf", "anyOf", "oneOf", "properties"}


class AcpViolation(AssertionError):
    """A line that the protocol does not allow; the message says where it is wrong."""


class AcpSchema:
    """The published schema of protocol version 1, indexed by method and direction."""

    def __init__(self, document: Json) -> None:
        self._defs: Json = _closed(document["$defs"])
        # (side that answers, method, "Request" | "Response" | "Notification") -> name of the definition
        self._names: dict[tuple[str, str, str], str] = {}
        for name, definition in document["$defs"].items():
            method = definition.get("x-method")
            if method is None:
                continue
            kind = next(kind for kind in ("Request", "Response", "Notification") if name.endswith(kind))
            sides = ("client", "agent") if definition["x-side"] == "protocol" else (definition["x-side"],)
            self._names.update({(side, method, kind): name for side in sides})
        self._validators: dict[str, jsonschema_rs.Draft202012Validator] = {}

    @classmethod
    def folder(cls) -> Path:
        """Returns the schema's folder: `BOUGH_ACP_SCHEMA`, or `.cache/acp` of this clone."""
        return Path(os.environ.get("BOUGH_ACP_SCHEMA") or DEFAULT_FOLDER)

    @classmethod
    def at_hand(cls) -> bool:
        """Tells whether `load` will find the schema."""
        return (cls.folder() / "schema.unstable.json").is_file()

    @classmethod
    @functools.cache
    def load(cls, *, unstable: bool = True) -> Self:
        """Reads the schema. The unstable one adds `session/fork`, `usage` and more."""
        path = cls.folder() / ("schema.unstable.json" if unstable else "schema.json")
        if not path.is_file():
            raise FileNotFoundError(f"no ACP schema at {path}; it comes with npm's @agentclientprotocol/sdk@2.4.0")
        return cls(msgspec.json.decode(path.read_bytes()))

    def check_client_line(self, line: bytes, pending: Pending) -> Json:
        """Checks a line that a client sends to an agent, and returns it decoded."""
        return self._check_line("client", line, pending)

    def check_agent_line(self, line: bytes, pending: Pending) -> Json:
        """Checks a line that an agent sends to a client, and returns it decoded."""
        return self._check_line("agent", line, pending)

    def _check_line(self, sender: Side, line: bytes, pending: Pending) -> Json:
        message = _decode(line)
        stray = message.keys() - _ENVELOPE
        if message.get("jsonrpc") != "2.0" or stray:
            raise AcpViolation(f"not a JSON-RPC 2.0 envelope (stray keys {sorted(stray)}): {line[:300]!r}")
        if "method" in message:
            self._check_call(sender, message, pending)
        else:
            self._check_response(sender, message, pending)
        return message

    def _check_call(self, sender: Side, message: Json, pending: Pending) -> None:
        method: str = message["method"]
        if "result" in message or "error" in message:
            raise AcpViolation(f"{method}: a call carries no result and no error")
        kind = "Request" if "id" in message else "Notification"
        if kind == "Request":
            if (sender, message["id"]) in pending:
                raise AcpViolation(f"{method}: id {message['id']!r} is still in use")
            pending[sender, message["id"]] = method
        if not method.startswith("_"):
            self._check_value(self._definition(_OTHER[sender], method, kind), message.get("params", {}))

    def _check_response(self, sender: Side, message: Json, pending: Pending) -> None:
        if "id" not in message or ("result" in message) == ("error" in message):
            raise AcpViolation(f"a response has an id, and a result or an error: {message!r}")
        method = pending.pop((_OTHER[sender], message["id"]), None)
        if "error" in message:
            # The answer to an unreadable line has the id null, which no request used.
            if method is None and message["id"] is not None:
                raise AcpViolation(f"an error for a request that nobody made: {message!r}")
            self._check_value("Error", message["error"])
        elif method is None:
            raise AcpViolation(f"a result for a request that nobody made: {message!r}")
        elif not method.startswith("_"):
            self._check_value(self._definition(sender, method, "Response"), message["result"])

    def _definition(self, answering: Side, method: str, kind: str) -> str:
        name = self._names.get((answering, method, kind))
        if name is None:
            raise AcpViolation(f"the schema knows no {kind.lower()} {method!r} to the {answering}")
        return name

    def _check_value(self, name: str, value: Any) -> None:
        validator = self._validators.get(name)
        if validator is None:
            schema = {"$ref": f"#/$defs/{name}", "unevaluatedProperties": False, "$defs": self._defs}
            validator = self._validators[name] = jsonschema_rs.Draft202012Validator(schema)
        errors = list(validator.iter_errors(value))
        # A wrong value leaves its fields "unevaluated" all the way up, so that complaint counts only when it is
        # alone.
        relevant = [error for error in errors if not error.message.startswith("Unevaluated")] or errors
        if relevant:
            error = max(relevant, key=lambda error: len(error.instance_path))
            place = ".".join(map(str, error.instance_path)) or "the top"
            raise AcpViolation(f"{name} at {place}: {error.message[:600]}")


def _decode(line: bytes) -> Json:
    body = line.removesuffix(b"\n")
    if b"\n" in body or b"\r" in body:
        raise AcpViolation(f"a message is one line: {line[:300]!r}")
    try:
        message = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise AcpViolation(f"not JSON ({error}): {line[:300]!r}") from error
    if not isinstance(message, dict):
        raise AcpViolation(f"not an object: {line[:300]!r}")
    return cast("Json", message)


def _closed(schema: Any, *, value: bool = False) -> Any:
    """Returns a copy in which an object used as a value allows only the fields that the schema names.

    The published schema leaves objects open, which would let misspelled fields pass; custom data goes into `_meta`.
    """
    if isinstance(schema, list):
        return [_closed(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    copy: Json = {}
    for key, item in cast("Json", schema).items():
        if key == "properties":
            copy[key] = {name: _closed(field, value=True) for name, field in item.items()}
        else:
            copy[key] = _closed(item, value=key == "items")
    if "discriminator" in copy and "oneOf" in copy:
        union = _switch(copy.pop("discriminator")["propertyName"], copy.pop("oneOf"))
        copy["allOf"] = [*copy.get("allOf", []), union]
    if value and copy.keys() & _COMPOSED:
        copy.setdefault("unevaluatedProperties", False)
    return copy


def _switch(key: str, cases: list[Json]) -> Json:
    """Returns a union that one field distinguishes as if/then, so that errors point at the field that is wrong."""
    names = [case["properties"][key]["const"] for case in cases]
    return {
        "properties": {key: {"enum": names}},
        "required": [key],
        "allOf": [
            {"if": {"properties": {key: {"const": name}}}, "then": case}
            for name, case in zip(names, cases, strict=True)
        ],
    }
