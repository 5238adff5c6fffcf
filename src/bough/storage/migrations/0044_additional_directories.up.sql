-- Folders beside a session's own in which its agent works too: real paths inside the workspace root.
ALTER TABLE sessions ADD COLUMN additional_directories JSON NOT NULL DEFAULT '[]';
