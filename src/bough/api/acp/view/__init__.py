"""Shows sessions to an editor: `attachment` follows one session, `projection` and `shapes` turn its transcript into
protocol updates, and `state` everything else about it, with its `options` and `commands`. Called by
`bough.api.acp.sessions`."""
