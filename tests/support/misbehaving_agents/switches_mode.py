"""Switches to the mode that its prompt names and ends the turn; after `wait`, it ends the turn only when the client
sets another mode. It says which mode the client sets."""

from tests.support.misbehaving_agents.protocol import SESSION, answer, chunk_line, messages, say, write

MODES = ("default", "plan", "yolo")

if __name__ == "__main__":
    waiting = None
    for message in messages():
        if message["method"] == "session/new":
            known = [{"id": name, "name": name} for name in MODES]
            say(
                id=message["id"],
                result={"sessionId": SESSION, "modes": {"currentModeId": "default", "availableModes": known}},
            )
            continue
        if message["method"] == "session/prompt":
            mode, _, wait = message["params"]["prompt"][-1]["text"].partition(" ")
            update = {"sessionUpdate": "current_mode_update", "currentModeId": mode}
            say(method="session/update", params={"sessionId": SESSION, "update": update})
            if wait:
                waiting = message
                continue
        elif message["method"] == "session/set_mode":
            write(chunk_line(f"{message['params']['modeId']} "))
        answer(message)
        if waiting is not None and message["method"] == "session/set_mode":
            answer(waiting)
            waiting = None
