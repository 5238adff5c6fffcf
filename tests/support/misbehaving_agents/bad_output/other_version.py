"""Speaks another version of the protocol than the client asked for."""

from tests.support.misbehaving_agents.protocol import messages, say

if __name__ == "__main__":
    for message in messages():
        say(id=message["id"], result={"protocolVersion": 2, "capabilities": {}})
