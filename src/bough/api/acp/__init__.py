"""Bough as an agent of the Agent Client Protocol, for editors (C2, C3): over WebSocket at `/acp`, and on stdio by
`bough acp`."""
