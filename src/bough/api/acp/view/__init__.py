"""Shows sessions to an editor: `attachment` follows one session, `projection` and `shapes` turn its transcript into
protocol updates, `state` everything else about it, and `children` announces subagents."""
