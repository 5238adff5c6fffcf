"""Turns: runs a queued prompt until the end of its turn is stored.

`scheduler` picks the sessions that can proceed and gives them slots, and `runner` runs each turn with an agent of
`live_agents`, to which it sends what `prompt_blocks` builds. `steer_turns` sends prompts into running turns.
`stop_turns` stops turns, `full_transcripts` does at a transcript's limit, and `park_turns` parks those that a limit of
the agent's account ended. `crash_limit` decides whether a turn whose agent died continues, and `continuation_prompt`
builds the prompt for its next attempt. `lost_turns` repairs turns that nothing runs anymore, `recovery` takes over the
turns of an earlier server at start-up, and `maintenance` does what is due by the clock. `stuck_turns` notices turns
that do nothing or repeat themselves.

Called by `sessions` (to stop turns and end agents), by `overview` (to count agents) and by `background_work`,
which recovers turns and runs the scheduler. Calls `live_agents`, `approvals`, `state`, `checkpoints` and `transcripts`.
"""
