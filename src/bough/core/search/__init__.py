"""Search over all transcripts and titles, and records by the names that people use (`names`).

Keeps the index up to date in the background (`index`), parses queries (`words`, `query`), extracts the searchable text
of messages (`message_text`) and marks matches (`snippets`). Called by the doors through `service` and `names`.
Calls only the store.
"""
