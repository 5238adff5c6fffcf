DROP TABLE keepers;
