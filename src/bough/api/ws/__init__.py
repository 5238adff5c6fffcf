"""Event streams: the frames of `bough.core.events.hub` over WebSocket and as server-sent events.

`bough.api.server` mounts the routes. They call `http.auth` and the subscriptions of the hub."""
