"""Answers initialize with an error that carries data."""

from tests.support.misbehaving_agents.protocol import messages, say

if __name__ == "__main__":
    for message in messages():
        error = {"code": -32603, "message": "state runtime failed", "data": {"restartable": True}}
        say(id=message["id"], error=error)
