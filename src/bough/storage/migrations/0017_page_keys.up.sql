-- One row per browser that was signed in. Only hashes are stored; the browser has the key and the cookie.
CREATE TABLE page_keys (
    id TEXT PRIMARY KEY,
    -- The browser's description of itself, such as "Firefox on Linux".
    name TEXT NOT NULL,
    -- Scheme, host and port of the page; the key is valid nowhere else.
    origin TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    cookie_hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    last_used_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
