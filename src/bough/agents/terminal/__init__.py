"""Owns the terminal agent: a real ACP agent whose prompts are shell commands, run in the session's folder.
It leaves everything else of Bough alone: Bough starts it, asks about its commands and stops it like any other agent.

A session is one file, `HOME/<session id>.jsonl`, written by `acp_server.record_files`. Every
record has `type` and `at` (ISO 8601, UTC); the other fields by type:

| type         | fields                                                                                          |
|--------------|-------------------------------------------------------------------------------------------------|
| `session`    | `id`, `cwd`, `forkedFrom`?: the first line of the file; `cwd` is the session's folder           |
| `setting`    | `cwd` or `mode`: hold from here on                                                              |
| `prompt`     | `turn` (from 1), `messageId`, `content`: written before the prompt is acted on                  |
| `update`     | `update`: a `session/update` as it was sent; growing output is recorded once, when it is whole  |
| `permission` | `command`, `cwd`, `answer`: the kind of the option that was chosen, or `cancelled`              |
| `shell`      | `cwd`, `set`, `unset`: where the shell stood at the end of a command, and its exported variables |
|              | as far as they differ from what the agent was started with                                      |
| `end`        | `turn`, `stopReason` or `error`                                                                 |
"""
