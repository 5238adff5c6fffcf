DROP TABLE tree_makers;
ALTER TABLE keepers DROP COLUMN token_hash;
DROP TABLE calls;
