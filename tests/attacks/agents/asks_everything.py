"""An agent that asks for permission for everything in a file, and says each answer: `… asks_everything PATH`. It reads
the file only, so it also works in a sandbox in which it may write nothing."""

import json
import sys
from pathlib import Path

from tests.support.misbehaving_agents.protocol import SESSION, answer, chunk_line, messages, say, write


def main(path: str) -> None:
    for message in messages():
        if message.get("method") == "session/prompt":
            for number, fields in enumerate(json.loads(Path(path).read_text())):
                say(id=number, method="session/request_permission", params={"sessionId": SESSION, **fields})
        elif message.get("method") == "session/cancel":
            return
        elif "method" in message:
            answer(message)
        else:
            outcome = message.get("result", {}).get("outcome", {})
            write(chunk_line(f"{message['id']}={outcome.get('optionId', 'none')} "))


if __name__ == "__main__":
    main(sys.argv[1])
