"""Event streams: the frames of `bough.core.events.hub` over WebSocket and as server-sent events."""
