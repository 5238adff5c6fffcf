DROP TABLE spending;
ALTER TABLE repos DROP COLUMN y;
ALTER TABLE repos DROP COLUMN x;
ALTER TABLE repos DROP COLUMN board_id;
DROP INDEX sessions_recent;
DROP TABLE unread;
ALTER TABLE sessions DROP COLUMN seen_at;
