ALTER TABLE keepers DROP COLUMN takes_resources;
ALTER TABLE keepers DROP COLUMN takes_images;
DROP TABLE files;
