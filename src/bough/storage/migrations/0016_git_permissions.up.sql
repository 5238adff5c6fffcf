-- What people allow git to run in a repository: hooks, filters, submodules, fetching. Null until a person has decided.
ALTER TABLE repos ADD COLUMN git_permissions JSON;
