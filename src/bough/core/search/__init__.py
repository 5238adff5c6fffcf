"""Search over all transcripts and titles.

Keeps the index up to date in the background (`index`), parses queries (`words`, `query`), extracts the searchable text
of messages (`message_text`) and marks matches (`snippets`). Called by the doors through `service`. Calls only the
store.
"""
