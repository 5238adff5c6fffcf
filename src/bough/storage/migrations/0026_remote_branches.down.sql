DROP TABLE remote_branches;
