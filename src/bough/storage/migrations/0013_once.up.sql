-- The attempt that was sent before the current one; 0 if there was none. A later attempt is told to continue, also by a
-- server that finds it in the middle.
ALTER TABLE tasks ADD COLUMN sent_before BIGINT NOT NULL DEFAULT 0;
UPDATE tasks SET sent_before = sent_attempt - 1 WHERE sent_attempt > 1;

-- Restores of files that have begun and not ended. The next server completes those that a kill cut off.
CREATE TABLE restores (
    id TEXT PRIMARY KEY,
    checkpoint_id TEXT NOT NULL,
    paths JSON,
    -- Who asked, with the idempotency key.
    caller JSON NOT NULL,
    -- Whether files may have been changed: from then on the checkpoint with this restore's id holds the files as they were.
    begun BOOLEAN NOT NULL,
    created_at TEXT NOT NULL
);
