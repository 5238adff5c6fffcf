-- Search: the words of every message and of every session's title, as `core/search_words` makes them.
-- What the index knows of each entry; a session's own title and description have no message.
CREATE TABLE search_entries (
    id INTEGER PRIMARY KEY,
    message_id TEXT UNIQUE REFERENCES messages (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    role TEXT,
    type TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE UNIQUE INDEX search_entries_session ON search_entries (session_id) WHERE message_id IS NULL;

-- Words come folded and parted by spaces, so the plainest way of parting them is the right one.
CREATE VIRTUAL TABLE search_index USING fts5 (words, tokenize = 'ascii');
CREATE TRIGGER search_entries_removed AFTER DELETE ON search_entries BEGIN
    DELETE FROM search_index WHERE rowid = old.id;
END;

-- What has changed and is not in the index yet. What was there before search was has numbers below nothing: it is
-- done when nothing newer waits.
CREATE TABLE search_due (
    id INTEGER PRIMARY KEY,
    message_id TEXT,
    session_id TEXT
);
CREATE TRIGGER search_message_added AFTER INSERT ON messages BEGIN
    INSERT INTO search_due (message_id) VALUES (new.id);
END;
CREATE TRIGGER search_message_changed AFTER UPDATE ON messages BEGIN
    INSERT INTO search_due (message_id) VALUES (new.id);
END;
CREATE TRIGGER search_session_added AFTER INSERT ON sessions WHEN new.title <> '' OR new.description <> '' BEGIN
    INSERT INTO search_due (session_id) VALUES (new.id);
END;
CREATE TRIGGER search_session_changed AFTER UPDATE OF title, description ON sessions
WHEN new.title <> old.title OR new.description <> old.description BEGIN
    INSERT INTO search_due (session_id) VALUES (new.id);
END;
CREATE TRIGGER search_session_removed AFTER DELETE ON sessions BEGIN
    DELETE FROM search_entries WHERE session_id = old.id AND message_id IS NULL;
END;

INSERT INTO search_due (id, message_id) SELECT -row_number() OVER (ORDER BY id DESC), id FROM messages;
INSERT INTO search_due (session_id) SELECT id FROM sessions WHERE title <> '' OR description <> '';
