-- Agents that do not take reports, as the catalog says: they would carry out a report as if it were a command. The server
-- writes them at each start.
CREATE TABLE agents_without_reports (agent TEXT PRIMARY KEY);
