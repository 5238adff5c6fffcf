"""The demo agent: a real ACP agent without a model, which follows the directives in a prompt.

- Bough starts it like any other agent (`python -m bough.agents.demo`); nothing of Bough imports it.
- It calls `bough.agents.acp_server` for the protocol and the session files, and nothing else of Bough.

A session is one append-only file, `HOME/<session id>.jsonl`, with one JSON object per line. Each record is written
as it happens, in a single write. A line that is not a whole record, because its writer was killed, is ignored.
Every record has `type` and `at` (ISO 8601, UTC). The other fields depend on the type:

| type         | fields                                                                                      |
|--------------|---------------------------------------------------------------------------------------------|
| `session`    | `id`, `cwd`, `forkedFrom`?: the first line of the file                                      |
| `setting`    | one or more of `cwd`, `mode`, `model`, `effort`: hold from here on                          |
| `prompt`     | `turn` (from 1), `messageId`, `content`: written before the agent acts on the prompt        |
| `update`     | `update`: a `session/update` as it was sent, with the chunks of one message merged into one |
| `permission` | `toolCallId`, `kind`, `answer`: the kind of the chosen option, or `cancelled`               |
| `end`        | `turn`, `stopReason` or `error`, `usage` and `cost` of this turn alone                      |

Loading a session replays `prompt` (as user message chunks) and `update` in order. A turn without `end` was cut off.
MCP servers are kept in memory only, because their headers and environments hold secrets.
"""
