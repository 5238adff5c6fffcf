"""An agent with an option that gives it all rights, which is on at first. argv[1] is how it reacts when the option is
set, argv[2] the file where it records its prompts. `test_pinned_options` runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say

how, heard = sys.argv[1], Path(sys.argv[2])
everything = "on"
prompt: Any = None


def options() -> dict[str, Any]:
    choices = [{"value": item, "name": item} for item in ("on", "off")]
    option = {"id": "everything", "name": "All", "type": "select", "currentValue": everything, "options": choices}
    return {"configOptions": [option] if how not in ("without", "refuses") else []}


def loosen() -> None:
    """Gives itself all rights, and reports that."""
    global everything
    everything = "on"
    update = {"sessionUpdate": "config_option_update", **options()}
    say(method="session/update", params={"sessionId": SESSION, "update": update})


for message in messages():
    method = message.get("method")
    if method == "session/new":
        offered = options() if how != "silent" else {}
        say(id=message["id"], result={"sessionId": SESSION, **offered})
    elif method == "session/set_config_option" and (how == "refuses" or (how == "stubborn" and prompt)):
        say(id=message["id"], error={"code": -32602, "message": "there is no such option"})
    elif method == "session/set_config_option":
        assert message["params"]["configId"] == "everything"
        everything = message["params"]["value"] if how != "liar" else everything
        say(id=message["id"], result=options())
        if prompt is not None:
            answer(prompt)
            prompt = None
    elif method == "session/prompt":
        text = message["params"]["prompt"][-1]["text"]
        with heard.open("a") as lines:
            lines.write(f"{text}: {everything}\n")
        if text == "loosen":
            # It answers only after it was set back.
            prompt = message
            loosen()
        else:
            answer(message)
        if text == "end":
            loosen()
    else:
        answer(message)
