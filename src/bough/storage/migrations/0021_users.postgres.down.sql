DROP TABLE audit;
DROP FUNCTION audit_refuse_removal();
DROP FUNCTION audit_refuse();
DELETE FROM counters WHERE name IN ('audit', 'audit_pruned');
-- Without the column, these would count as the owner's.
DELETE FROM page_keys WHERE token_id IS NOT NULL;
ALTER TABLE page_keys DROP COLUMN token_id;
ALTER TABLE calls DROP COLUMN token_id;
-- Without the column, these would count as an admin's.
UPDATE sessions SET env = '{}' WHERE id IN (SELECT session_id FROM session_private WHERE NOT env_trusted);
UPDATE session_private SET env = '{}' WHERE NOT env_trusted;
ALTER TABLE session_private DROP COLUMN env_trusted;
DROP TABLE tokens;
DROP TABLE users;
