"""Shows sessions to an editor: `replay_and_follow` follows one session, `projection` and `shapes` turn its transcript
into protocol updates, and `state` everything else about it, with its `options` and `commands`.

Called by `bough.api.acp.sessions`. Calls the services of core and the hub."""
