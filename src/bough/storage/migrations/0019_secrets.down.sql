ALTER TABLE keepers DROP COLUMN withheld;
ALTER TABLE keepers DROP COLUMN secrets;
