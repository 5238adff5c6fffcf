"""Commands about the server itself: `serve` runs it, `open` opens its page, and `db` backs up and migrates its
database.

Called by `bough.api.cli.main`. `serve` and `db` work in this process and call `bough.api.server` and
`bough.storage`; `open` calls the server through `framework`.
"""
