"""Commands about the server itself: `serve` runs it, `open` opens its page, `token` manages who may call it, and `db`
backs up and migrates its database.

Called by `bough.api.cli.main`. `serve` and `db` work in this process and call `bough.api.server` and
`bough.storage`; the others call the server through `framework`.
"""
