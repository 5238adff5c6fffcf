"""An agent that chooses the id of its conversation, and lists it, too: `… names_itself ID FOLDER`."""

import sys
from typing import Any

from tests.support.misbehaving_agents.protocol import answer, messages, say


def main(conversation_id: str, folder: str) -> None:
    for message in messages():
        if message.get("method") == "initialize":
            can: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"list": {}}}
            say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": can})
        elif message.get("method") == "session/new":
            say(id=message["id"], result={"sessionId": conversation_id})
        elif message.get("method") == "session/list":
            listed = [{"sessionId": name, "cwd": folder, "title": name} for name in (conversation_id, "plain")]
            say(id=message["id"], result={"sessions": listed})
        else:
            answer(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
