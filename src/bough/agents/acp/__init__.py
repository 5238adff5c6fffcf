"""The client side of the Agent Client Protocol: how Bough talks to an agent.

- It owns the wire format, the conversation over a link, the protocol's calls and the reading of answers.
- `core.live_agents`, `handshake` and the transcripts call it.
- It calls `bough.agents.link` for lines to and from the agent, and `bough.agents.json_rpc`. It decides nothing about
  what an agent may do.
"""
