-- The trace to which a call belongs, for those who follow it through other services. It is not sealed: callers choose
-- it, and a replica of an older version does not know it when it seals.
ALTER TABLE audit_entries ADD COLUMN trace_id text;
DROP VIEW audit;
CREATE VIEW audit AS
  SELECT e.id, e.at, c.key_id, e.session_id, c.person_id, e.surface, c.server_name, c.tool_name, e.decision, c.reason,
    c.policy_id, c.policy_version, c.rule_index, e.reference_id, e.latency_ms, c.shadow_policy_id,
    c.shadow_policy_version, c.shadow_decision, c.shadow_rule_index, e.trace_id
  FROM audit_entries e JOIN audit_contexts c ON c.id = e.context;

-- How far the sealed log has been sent to each receiver that the server file names. `shipped` is the number of places
-- that it has confirmed, so it is also the next place to send.
CREATE TABLE shipping (
  name text PRIMARY KEY,
  shipped bigint NOT NULL,
  shipped_at bigint,
  failures bigint NOT NULL,
  last_error text,
  last_error_at bigint
);
