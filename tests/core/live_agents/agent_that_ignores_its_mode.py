"""An agent that does not follow its mode: argv[1] is how, argv[2] the file where it records the mode of each prompt.
`test_ignored_modes` runs it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tests.support.misbehaving_agents.protocol import SESSION, answer, messages, say

MODES = ("default", "plan", "yolo")
how, heard = sys.argv[1], Path(sys.argv[2])
mode = "default"
prompt: Any = None
working = False


def note(text: str) -> None:
    with heard.open("a") as lines:
        lines.write(f"{text}\n")


def be_in(new_mode: str) -> None:
    """Changes its mode, and reports that."""
    global mode
    mode = new_mode
    update = {"sessionUpdate": "current_mode_update", "currentModeId": mode}
    say(method="session/update", params={"sessionId": SESSION, "update": update})


def is_in(name: str) -> bool:
    return mode == name


def opened() -> dict[str, Any]:
    available = [{"id": item, "name": item} for item in MODES]
    modes = {} if how == "modeless" else {"modes": {"currentModeId": mode, "availableModes": available}}
    return {"sessionId": SESSION, **modes}


for message in messages():
    method = message.get("method")
    if method == "initialize" and how == "slow":
        note("starting")
        while not heard.with_suffix(".go").exists():
            time.sleep(0.01)
    if method == "session/new":
        say(id=message["id"], result=opened())
    elif method == "session/set_mode" and (how == "stubborn" or working):
        say(id=message["id"], error={"code": -32603, "message": "not during a turn"})
    elif method == "session/set_mode":
        be_in("yolo" if how == "liar" else message["params"]["modeId"])
        answer(message)
    elif method == "session/prompt" and how == "stubborn":
        note("prompted")
        be_in("yolo")
    elif method == "session/prompt" and how == "fixed" and not is_in("plan"):
        # It works until it is ended, and takes no other mode meanwhile.
        note(f"prompted in {mode}")
        working = True
    else:
        if method == "session/prompt":
            note(f"prompted in {mode}")
        answer(message)
