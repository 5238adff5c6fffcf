-- Boxes; with a semicolon; in a comment.
CREATE TABLE boxes (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL UNIQUE DEFAULT 'a;b :c TEXT',
    hits BIGINT NOT NULL DEFAULT 0 CHECK (hits >= 0),
    cost DOUBLE PRECISION,
    open BOOLEAN NOT NULL DEFAULT TRUE,
    note JSON
);

/* The things; in boxes. */
CREATE TABLE things (
    id TEXT PRIMARY KEY,
    box_id TEXT NOT NULL REFERENCES boxes (id),
    body TEXT
);
CREATE INDEX things_by_box ON things (box_id) WHERE body IS NOT NULL;
