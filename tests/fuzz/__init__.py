"""Fuzzing: every decoder of text that an agent, a repository, an editor or a person's file controls is fed with
generated input, and a session's life is compared with a model.

- `target` describes what is fuzzed, and makes new inputs from those in `corpus/NAME/`, which are kept forever.
- `agent_targets`, `git_targets`, `policy_targets` and `door_targets` list what is fuzzed.
- `test_mcp_door` sends such frames to the door of the tools; `session_machine` plays random lives of sessions.
- `make test` runs the corpora and a short, fixed round; `make fuzz MINUTES=30` runs random rounds for longer.
"""
