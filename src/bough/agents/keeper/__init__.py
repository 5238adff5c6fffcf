"""The keeper: a small detached program that owns one agent's stdio, so that a turn outlives the server.
`docs/reference/keeper.md` describes its files and its protocol. `launcher`, `start`, `link`, `stream`, `follower` and
`orphans` run in the server; the other modules are the program, which imports nothing but the standard library."""
