"""Event streams (A3): the same frames on WebSocket and as server-sent events."""
