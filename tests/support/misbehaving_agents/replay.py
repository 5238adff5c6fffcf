"""Plays a recorded file of ACP lines as the answer to each prompt, as fast as it can: `… replay PATH`.

The file holds whole lines (updates, as an agent wrote them) with the literal session id "replay", which is what
session/new answers here. They are written to stdout in one piece; then the prompt is answered."""

import sys
from pathlib import Path

from tests.support.misbehaving_agents.protocol import answer, messages

if __name__ == "__main__":
    recording = Path(sys.argv[1]).read_bytes()
    if recording and not recording.endswith(b"\n"):
        recording += b"\n"
    for message in messages():
        if message["method"] == "session/prompt":
            sys.stdout.buffer.write(recording)
            sys.stdout.buffer.flush()
        answer(message)
