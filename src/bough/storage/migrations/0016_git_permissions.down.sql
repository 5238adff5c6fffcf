ALTER TABLE repos DROP COLUMN git_permissions;
