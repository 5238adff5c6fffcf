DROP INDEX session_private_conversation;
ALTER TABLE session_private DROP COLUMN conversation_mark;
ALTER TABLE tasks DROP COLUMN outside;
DROP TABLE imported_conversations;
