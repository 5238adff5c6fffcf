"""Search over all transcripts and titles.

Owns the index and keeps it up to date in the background (`index`), reads questions (`words`, `query`), extracts the
searchable text of messages (`message_text`) and marks matches (`snippets`). Called by the doors through `service`.
Calls only the store.
"""
