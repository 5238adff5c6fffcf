DROP TABLE questions;
ALTER TABLE approvals DROP COLUMN answer;
