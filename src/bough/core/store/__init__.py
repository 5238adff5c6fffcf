"""Reads and writes the database for the services: transactions with events, idempotency keys, retries while it is busy,
rows and changes to them, named SQL, short ids, pages and cached responses.

Called by every other room of core. Calls `bough.storage`."""
