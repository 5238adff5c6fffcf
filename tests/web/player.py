"""An agent for pictures: the demo agent behind a score, which says which directives a person's plain words stand for.
Words that are not in the score reach it as they are; what it answers goes out untouched."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

Score = list[tuple[str, str, str]]
"""Words of a prompt, the model that must have been chosen (empty: any), and the directives to follow instead."""


def main() -> int:
    """`player.py SCORE`: the score is a file of JSON."""
    score: Score = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    models: dict[str, str] = {}
    with subprocess.Popen([sys.executable, "-m", "bough.agents.demo"], stdin=subprocess.PIPE) as agent:

        def end(_number: int, _frame: object) -> None:
            agent.terminate()

        signal.signal(signal.SIGTERM, end)
        assert agent.stdin is not None
        for line in sys.stdin.buffer:
            agent.stdin.write(played(line, score, models))
            agent.stdin.flush()
        agent.stdin.close()
        return agent.wait()


def played(line: bytes, score: Score, models: dict[str, str]) -> bytes:
    """The line as the demo agent shall read it."""
    message: dict[str, Any] = json.loads(line)
    params = message.get("params", {})
    if message.get("method") == "session/set_config_option" and params["configId"] == "model":
        models[params["sessionId"]] = params["value"]
    if message.get("method") != "session/prompt":
        return line
    texts = [block for block in params["prompt"] if block["type"] == "text"]
    model = models.get(params["sessionId"], "")
    for words, wanted, directives in score:
        if texts and words in texts[-1]["text"] and wanted in ("", model):
            texts[-1]["text"] = directives
            return json.dumps(message).encode() + b"\n"
    return line


if __name__ == "__main__":
    sys.exit(main())
