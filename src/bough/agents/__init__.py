"""Agents: finding, starting and talking to programs that speak the Agent Client Protocol.

- `catalog` describes agents, `keeper` is the program that runs one, `keeper_client` starts and reaches keepers, `link`
  connects to agents, and `acp` is the client side of the protocol.
- `demo` and `terminal` are Bough's own agents, on top of `acp_server`. `shims` holds programs that wrap others' agents.
- `core` calls this package; it calls nothing of `core` or `api`.
"""
