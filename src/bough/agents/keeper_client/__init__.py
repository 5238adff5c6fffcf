"""The server's side of keepers: starts them, attaches to them, reads their folders and cleans up after dead ones.

- `keeper_launcher` is the entry point. It uses `start_keeper` to start or attach, and returns one of three links:
  `keeper_link` for a keeper that answers, `journal_link` for one of another version, `dead_agent_link` for a dead one.
- `keeper_key` derives the key that each keeper wants to see.
- `keeper_stream` reads what a keeper sends, `keeper_folder` reads its files, and `orphans` ends keepers from outside,
  with the processes that dead ones left behind.
- `app` gives the launcher to `core`; `bough doctor` calls `keeper_folder` and `orphans`. This room calls `link`,
  `lines`, `process_link` and the formats in `keeper`, which it runs as a separate program.
"""
