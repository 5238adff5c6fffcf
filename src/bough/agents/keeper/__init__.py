"""The keeper: a small detached program that owns one agent's pipes, so that a turn outlives the server.

- It runs as `python -I -m bough.agents.keeper FOLDER`, uses the standard library alone and imports nothing else of
  Bough.
- `__main__` and `startup` start it, `main_loop` runs it, `dispatch` and `server_connection` serve the server,
  `agent_process` and `end_agent` handle the agent, `journal` and `full_disk` store the lines, and `network` starts the
  proxy of a strict box (`bough.agents.network`), a program of its own.
- `keeper_client` starts it and shares its formats and constants (`files`, `frames`, `journal`). The terminal agent,
  `process_link` and `bough doctor` use `process_tree`, which finds and signals processes. The keeper of a person's
  terminal (`bough.agents.pty_keeper`) is a program of its own, built from the same parts.
- `docs/reference/keeper.md` documents the files and the protocol between keeper and server.
"""
