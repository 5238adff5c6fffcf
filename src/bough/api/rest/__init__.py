"""REST routes, one module per noun. A route checks its input, calls one service of `bough.core` and returns the result;
the OpenAPI document is generated from the routes' types and summaries. `bough.api.server.app` mounts all routers."""
