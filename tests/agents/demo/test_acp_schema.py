"""The schema check accepts valid lines and stops invalid ones, in both directions."""

import msgspec
import pytest

from tests.support.acp.acp_schema import AcpSchema, AcpViolation, Pending

pytestmark = pytest.mark.skipif(not AcpSchema.at_hand(), reason="the ACP schema is not installed")

CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
OPTION = {"id": "a", "name": "b", "type": "select", "currentValue": "x", "options": [{"value": "x", "name": "X"}]}


def _line(**fields: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"


def _update(update: object) -> bytes:
    return _line(method="session/update", params={"sessionId": "s", "update": update})


def test_requests_and_answers_are_matched_in_both_directions() -> None:
    """C1, C2: An answer is checked as the answer to its request, though both sides use the same id."""
    schema = AcpSchema.load()
    pending: Pending = {}
    ask: dict[str, object] = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
    schema.check_client_line(_line(id=0, method="session/prompt", params={"sessionId": "s", "prompt": []}), pending)
    schema.check_agent_line(_line(id=0, method="session/request_permission", params=ask), pending)
    with pytest.raises(AcpViolation, match="RequestPermissionResponse"):
        schema.check_client_line(_line(id=0, result={"stopReason": "end_turn"}), dict(pending))
    schema.check_client_line(_line(id=0, result={"outcome": {"outcome": "cancelled"}}), pending)
    schema.check_agent_line(_line(id=0, result={"stopReason": "end_turn"}), pending)
    assert pending == {}


@pytest.mark.parametrize(
    "line",
    [
        _update(CHUNK),
        _update({**CHUNK, "messageId": "m", "_meta": {"vendor/x": 1}}),
        _update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "rawInput": {"any": ["thing"]}}),
        _update({"sessionUpdate": "config_option_update", "configOptions": [OPTION]}),
        _line(method="$/cancel_request", params={"requestId": 1}),
        _line(method="_vendor/anything", params={"x": 1}),
        _line(id=None, error={"code": -32700, "message": "Parse error"}),
    ],
)
def test_valid_lines_pass(line: bytes) -> None:
    """C1, C2: Valid lines pass, with custom data where the protocol allows it."""
    AcpSchema.load().check_agent_line(line, {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b'{"jsonrpc":\n"2.0"}', "one line"),
        (b'{"id":1,"result":{}}', "not a JSON-RPC 2.0 envelope"),
        (_line(method="session/update", params={}, extra=1), "stray keys"),
        (_line(id=7, result={}), "nobody made"),
        (_line(id=7, error={"code": 1, "message": "x"}), "nobody made"),
        (_line(id=1, result={}, error={"code": 1, "message": "x"}), "a result or an error"),
        (
            _line(method="session/cancel", params={"sessionId": "s"}),
            "knows no notification 'session/cancel' to the client",
        ),
        (_update({**CHUNK, "messageid": "m"}), "'messageid' was unexpected"),
        (_update({**CHUNK, "content": {"type": "txt", "text": "x"}}), "update.content.type"),
        (_update({**CHUNK, "content": {"type": "text", "text": "x", "z": 1}}), "'z' was unexpected"),
        (_update({"sessionUpdate": "dance"}), "update.sessionUpdate"),
        (_update({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "kind": "x"}), "update.kind"),
        (_update({"sessionUpdate": "config_option_update", "configOptions": [{**OPTION, "name": 1}]}), "name"),
    ],
)
def test_invalid_lines_are_stopped(line: bytes, reason: str) -> None:
    """C1, C2: Anything that the schema does not define, including misspelled fields, is a violation that names its
    place."""
    with pytest.raises(AcpViolation) as violation:
        AcpSchema.load().check_agent_line(line, {})
    assert reason in str(violation.value)
