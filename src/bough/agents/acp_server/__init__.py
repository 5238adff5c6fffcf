"""The ACP server side that Bough's own agents, `demo` and `terminal`, share.

- It owns the connection over stdin and stdout, the protocol's methods, the order of turns and the session files.
- `demo` and `terminal` subclass its server, session and turn; they decide what a prompt causes.
- It calls `bough.agents.json_rpc` and nothing else of Bough, because the agents are separate programs.
"""
