"""Has the modes `default` and `plan`, names its current mode at each prompt, and then switches back to `default`."""

from tests.support.misbehaving_agents.protocol import SESSION, answer, chunk_line, messages, say, write

if __name__ == "__main__":
    mode = "default"
    for message in messages():
        if message["method"] == "session/new":
            known = [{"id": name, "name": name} for name in ("default", "plan")]
            modes = {"currentModeId": mode, "availableModes": known}
            say(id=message["id"], result={"sessionId": SESSION, "modes": modes})
            continue
        if message["method"] == "session/set_mode":
            mode = message["params"]["modeId"]
        elif message["method"] == "session/prompt":
            write(chunk_line(mode))
            mode = "default"
            update = {"sessionUpdate": "current_mode_update", "currentModeId": mode}
            say(method="session/update", params={"sessionId": SESSION, "update": update})
        answer(message)
