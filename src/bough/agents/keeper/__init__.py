"""The keeper: a small detached program that owns one agent's pipes, so that a turn outlives the server.

- The program (`__main__`, `main_loop`, `dispatch`, `server_connection`, `agent_process`, `end_agent`, `journal`,
  `full_disk`, `frames`, `files`, `process_tree`) uses the standard library alone and imports nothing else of Bough.
- The server's side (`keeper_launcher`, `start_keeper`, the three links, `keeper_stream`, `keeper_folder`, `orphans`)
  starts keepers, attaches to them and cleans up after dead ones. `app` gives its launcher to `core.turns`.
- `docs/reference/keeper.md` documents the files and the protocol between the two.
"""
