"""Bough as an ACP agent, for editors: over WebSocket at `/acp`, and on stdio through `bough acp`.

`protocol` reads and writes JSON-RPC and holds one editor's connection, `sessions` implements the protocol's methods on
the services of `bough.core`, and `view` turns transcripts and state into updates. `bough.api.server` mounts
the door.
"""
