"""Serves the web page: `routes` decides which addresses belong to the page and exchanges the link's token for a ticket
and a cookie; `assets` reads the built files. The page's own source is `web/` at the top of the repository.

`bough.api.server` mounts the routes. They call `http.auth`, and `core.access` for the keys of browsers."""
