-- The spine: repositories, worktrees, sessions, tasks, messages, approvals, events.
-- The same text runs on SQLite and PostgreSQL. Times are ISO text, ids UUIDv7 text.

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('event', 0), ('admission', 0);

CREATE TABLE repos (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('git', 'plain')),
    default_branch TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX repos_tail ON repos (substr(id, 29));

CREATE TABLE boards (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    is_default BOOLEAN NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);

CREATE TABLE worktrees (
    id TEXT PRIMARY KEY,
    repo_id TEXT NOT NULL REFERENCES repos (id),
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT,
    base_ref TEXT,
    base_sha TEXT,
    made_by_bough BOOLEAN NOT NULL,
    notes TEXT NOT NULL,
    board_id TEXT REFERENCES boards (id),
    x DOUBLE PRECISION,
    y DOUBLE PRECISION,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    removed_at TEXT
);
CREATE UNIQUE INDEX worktrees_path ON worktrees (path) WHERE removed_at IS NULL;
CREATE INDEX worktrees_repo ON worktrees (repo_id, created_at);
CREATE INDEX boards_tail ON boards (substr(id, 29));
CREATE INDEX worktrees_board ON worktrees (board_id);
CREATE INDEX worktrees_tail ON worktrees (substr(id, 29));

CREATE TABLE mcp_servers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    transport TEXT NOT NULL CHECK (transport IN ('stdio', 'http', 'sse')),
    command TEXT,
    args JSON NOT NULL,
    env JSON NOT NULL,
    url TEXT,
    headers JSON NOT NULL,
    enabled BOOLEAN NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE INDEX mcp_servers_tail ON mcp_servers (substr(id, 29));

CREATE TABLE mcp_server_private (
    mcp_server_id TEXT PRIMARY KEY REFERENCES mcp_servers (id) ON DELETE CASCADE,
    env JSON NOT NULL,
    url TEXT,
    headers JSON NOT NULL
);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    repo_id TEXT NOT NULL REFERENCES repos (id),
    worktree_id TEXT REFERENCES worktrees (id),
    cwd TEXT NOT NULL,
    agent TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'completed', 'cancelled', 'error')),
    activity TEXT NOT NULL CHECK (activity IN ('not_started', 'idle', 'running', 'waiting_permission')),
    permission_mode TEXT NOT NULL,
    allowed_tools JSON NOT NULL,
    model TEXT,
    effort TEXT,
    mcp_server_ids JSON NOT NULL,
    env JSON NOT NULL,
    context_files JSON NOT NULL,
    callback JSON NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('root', 'fork', 'subsession', 'btw')),
    parent_session_id TEXT REFERENCES sessions (id),
    forked_from_session_id TEXT REFERENCES sessions (id),
    root_session_id TEXT NOT NULL,
    branch_task_id TEXT,
    created_by JSON NOT NULL,
    git_state JSON NOT NULL,
    message_count BIGINT NOT NULL,
    queue_paused BOOLEAN NOT NULL,
    archived BOOLEAN NOT NULL,
    metadata JSON NOT NULL,
    context JSON,
    cost JSON,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    active_at TEXT NOT NULL,
    ended_at TEXT
);
CREATE INDEX sessions_created ON sessions (created_at, id);
CREATE INDEX sessions_repo ON sessions (repo_id, created_at, id);
CREATE INDEX sessions_status ON sessions (status, created_at, id);
CREATE INDEX sessions_active ON sessions (active_at) WHERE status = 'active';
CREATE INDEX sessions_worktree ON sessions (worktree_id);
CREATE INDEX sessions_parent ON sessions (parent_session_id);
CREATE INDEX sessions_forked_from ON sessions (forked_from_session_id);
CREATE INDEX sessions_root ON sessions (root_session_id);
CREATE INDEX sessions_tail ON sessions (substr(id, 29));

-- What a session has that nobody is shown: values of its environment, its counters, the agent's own id for it.
CREATE TABLE session_private (
    session_id TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    env JSON NOT NULL,
    next_position BIGINT NOT NULL,
    next_task BIGINT NOT NULL,
    agent_session_id TEXT
);

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    position BIGINT NOT NULL,
    prompt TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('user', 'session', 'callback', 'btw', 'schedule', 'initial')),
    source_session_id TEXT,
    status TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    sent_attempt BIGINT NOT NULL,
    held BOOLEAN NOT NULL,
    stop_reason TEXT,
    error JSON,
    git_before JSON,
    git_after JSON,
    usage JSON,
    cost JSON,
    cost_before JSON,
    tool_use_count BIGINT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    started_at TEXT,
    ended_at TEXT
);
CREATE UNIQUE INDEX tasks_position ON tasks (session_id, position);
CREATE INDEX tasks_status ON tasks (status, created_at) WHERE ended_at IS NULL;
CREATE INDEX tasks_open ON tasks (session_id, position) WHERE ended_at IS NULL;
CREATE INDEX tasks_created ON tasks (created_at, id);
CREATE INDEX tasks_tail ON tasks (substr(id, 29));

CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    task_id TEXT REFERENCES tasks (id),
    position BIGINT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'agent', 'system')),
    content JSON NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
CREATE UNIQUE INDEX messages_position ON messages (session_id, position);
-- Which messages a transcript has, and in which version, without touching them.
CREATE INDEX messages_versions ON messages (session_id, position, id, updated_at);
CREATE INDEX messages_updated ON messages (session_id, updated_at);
CREATE INDEX messages_task ON messages (task_id);
CREATE INDEX messages_tail ON messages (substr(id, 29));

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    attempt BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'allowed', 'denied', 'cancelled', 'expired')),
    title TEXT NOT NULL,
    tool_kind TEXT NOT NULL,
    tool_call JSON NOT NULL,
    options JSON NOT NULL,
    option_id TEXT,
    decision TEXT,
    decided_by JSON,
    request_id JSON NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    decided_at TEXT
);
CREATE INDEX approvals_session ON approvals (session_id, created_at);
CREATE INDEX approvals_task ON approvals (task_id);
CREATE INDEX approvals_status ON approvals (status, created_at);
CREATE INDEX approvals_tail ON approvals (substr(id, 29));

CREATE TABLE events (
    cursor BIGINT PRIMARY KEY,
    type TEXT NOT NULL,
    session_id TEXT,
    object_id TEXT NOT NULL,
    data JSON NOT NULL,
    created_at TEXT NOT NULL
);
CREATE INDEX events_session ON events (session_id, cursor);

CREATE TABLE idempotency (
    key TEXT NOT NULL,
    scope TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    answer JSON,
    created_at TEXT NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_created ON idempotency (created_at);
