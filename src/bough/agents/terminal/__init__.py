"""The terminal agent: a real ACP agent whose prompts are shell commands, run in the session's folder.

- Bough starts it like any other agent (`python -m bough.agents.terminal`); nothing of Bough imports it.
- It calls `bough.agents.acp_server` for the protocol and the session files, and two modules of the keeper to find
  processes.

A session is one file, `HOME/<session id>.jsonl`, written by `acp_server.session_store`. Every record has `type` and
`at` (ISO 8601, UTC). The other fields depend on the type:

| type         | fields                                                                                            |
|--------------|---------------------------------------------------------------------------------------------------|
| `session`    | `id`, `cwd`, `forkedFrom`?: the first line of the file; `cwd` is the session's folder             |
| `setting`    | `cwd` or `mode`: hold from here on                                                                |
| `prompt`     | `turn` (from 1), `messageId`, `content`: written before the agent acts on the prompt              |
| `update`     | `update`: a `session/update` as it was sent; growing output is recorded once, when it is complete |
| `permission` | `command`, `cwd`, `answer`: the kind of the chosen option, or `cancelled`                         |
| `shell`      | `cwd`, `set`, `unset`: the shell's folder at the end of a command, and its exported variables as  |
|              | far as they differ from those that the agent was started with                                     |
| `end`        | `turn`, `stopReason` or `error`                                                                   |
"""
