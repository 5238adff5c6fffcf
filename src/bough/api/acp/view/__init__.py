"""What an editor sees of sessions: `attachment` follows one session, `projection` and `shapes` turn its transcript into
protocol updates, `state` everything else about it, and `children` announces subagents."""
