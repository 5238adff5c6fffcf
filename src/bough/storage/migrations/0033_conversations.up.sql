-- The conversations of agents that were imported as sessions, each once.
CREATE TABLE imported_conversations (
    agent TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    imported_at TEXT NOT NULL,
    PRIMARY KEY (agent, conversation_id)
);
CREATE INDEX imported_conversations_session ON imported_conversations (session_id);
-- Whether a turn took place outside of Bough, in the agent's own program.
ALTER TABLE tasks ADD COLUMN outside BOOLEAN NOT NULL DEFAULT FALSE;
-- How far Bough knows the agent's own file of the conversation.
ALTER TABLE session_private ADD COLUMN conversation_mark JSON;
CREATE INDEX session_private_conversation ON session_private (agent_session_id);
