"""Asks the user of the client a question, and quotes the answer."""

from typing import Any

import msgspec

from bough.agents.acp_server.updates import new_id
from bough.agents.demo.updates import DemoUpdates
from bough.agents.json_rpc import Json, RpcError


class _Answer(msgspec.Struct):
    action: str
    content: dict[str, Any] | None = None


async def ask_user(updates: DemoUpdates, question: Json) -> None:
    """Sends `elicitation/create` and says how it was answered."""
    mode = "url" if "url" in question else "form"
    declared: Any = updates.connection.client_capabilities.get("elicitation")
    if not isinstance(declared, dict) or declared.get(mode) is None:  # pyright: ignore[reportUnknownMemberType]
        updates.say(f"I cannot ask: the client takes no questions of the mode {mode}.")
        return
    schema = {name: value for name, value in question.items() if name not in ("message", "url")}
    params: Json = {
        "sessionId": updates.file.id,
        "mode": mode,
        "message": question.get("message", "Please answer."),
    }
    if mode == "url":
        params |= {"url": question["url"], "elicitationId": new_id("question")}
    else:
        params["requestedSchema"] = {"type": "object", **schema}
    updates.end_message()
    try:
        answer = msgspec.json.decode(await updates.connection.request("elicitation/create", params), type=_Answer)
    except (RpcError, msgspec.DecodeError) as error:
        updates.say(f"My question was not answered: {error}")
        return
    content = msgspec.json.encode(answer.content, order="sorted").decode() if answer.content is not None else ""
    updates.say(f"You answered {answer.action} {content}".strip() + ".")
