"""An agent for screenshots and tests: the demo agent behind a script that maps plain prompts to directives. Prompts
that are not in the script, and everything the demo agent answers, pass through unchanged."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

Script = list[tuple[str, str, str]]
"""Part of a prompt, the required model (empty for any), and the directives to follow instead."""


def main() -> int:
    """Runs `scripted_agent.py SCRIPT`, where SCRIPT is a JSON file."""
    script: Script = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    models: dict[str, str] = {}
    with subprocess.Popen([sys.executable, "-m", "bough.agents.demo"], stdin=subprocess.PIPE) as agent:

        def end(_number: int, _frame: object) -> None:
            agent.terminate()

        signal.signal(signal.SIGTERM, end)
        assert agent.stdin is not None
        for line in sys.stdin.buffer:
            agent.stdin.write(translated(line, script, models))
            agent.stdin.flush()
        agent.stdin.close()
        return agent.wait()


def translated(line: bytes, script: Script, models: dict[str, str]) -> bytes:
    """Returns the line that the demo agent reads instead."""
    message: dict[str, Any] = json.loads(line)
    params = message.get("params", {})
    if message.get("method") == "session/set_config_option" and params["configId"] == "model":
        models[params["sessionId"]] = params["value"]
    if message.get("method") != "session/prompt":
        return line
    texts = [block for block in params["prompt"] if block["type"] == "text"]
    model = models.get(params["sessionId"], "")
    for words, required_model, directives in script:
        if texts and words in texts[-1]["text"] and required_model in ("", model):
            texts[-1]["text"] = directives
            return json.dumps(message).encode() + b"\n"
    return line


if __name__ == "__main__":
    sys.exit(main())
