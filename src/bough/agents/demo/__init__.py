"""Owns the demo agent: a real ACP agent without a model, which does what the directives in a prompt say.
It leaves everything else of Bough alone, and imports none of it: Bough starts it like any other agent.

A session is one file, `HOME/<session id>.jsonl`, only ever appended to, one JSON object a line, each record
written as it happens with a single write. A line that is no whole record (its writer was killed) counts for
nothing. Every record has `type` and `at` (ISO 8601, UTC); the other fields by type:

| type         | fields                                                                                   |
|--------------|------------------------------------------------------------------------------------------|
| `session`    | `id`, `cwd`, `forkedFrom`?: the first line of the file                                   |
| `setting`    | one or more of `cwd`, `mode`, `model`, `effort`: hold from here on                       |
| `prompt`     | `turn` (from 1), `messageId`, `content`: written before the prompt is acted on           |
| `update`     | `update`: a `session/update` as it was sent, the chunks of one message merged into one   |
| `permission` | `toolCallId`, `kind`, `answer`: the kind of the option that was chosen, or `cancelled`   |
| `end`        | `turn`, `stopReason` or `error`, `usage` and `cost` of this turn alone                   |

Loading replays `prompt` (as user message chunks) and `update` in order; a turn without `end` was cut off.
MCP servers are kept in memory only, since their headers and environments hold secrets.
"""
