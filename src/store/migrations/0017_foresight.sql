-- What a change of a policy would do: a second policy for a key, whose verdicts are recorded beside the real ones, and
-- counts of the audit log by context, from which drafts are replayed.
ALTER TABLE keys ADD COLUMN shadow_policy_id text;
CREATE INDEX keys_shadow ON keys (shadow_policy_id) WHERE shadow_policy_id IS NOT NULL;

-- All four are null for a call that no shadow judged.
ALTER TABLE audit_contexts ADD COLUMN shadow_policy_id text;
ALTER TABLE audit_contexts ADD COLUMN shadow_policy_version bigint;
ALTER TABLE audit_contexts ADD COLUMN shadow_decision text;
ALTER TABLE audit_contexts ADD COLUMN shadow_rule_index bigint;
CREATE INDEX audit_contexts_tool ON audit_contexts (tool_name, server_name);
DROP VIEW audit;
CREATE VIEW audit AS
  SELECT e.id, e.at, c.key_id, e.session_id, c.person_id, e.surface, c.server_name, c.tool_name, e.decision, c.reason,
    c.policy_id, c.policy_version, c.rule_index, e.reference_id, e.latency_ms, c.shadow_policy_id,
    c.shadow_policy_version, c.shadow_decision, c.shadow_rule_index
  FROM audit_entries e JOIN audit_contexts c ON c.id = e.context;

-- As `rollups`, by context.
CREATE TABLE context_rollups (
  span bigint NOT NULL,
  start bigint NOT NULL,
  context bigint NOT NULL,
  decision text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (span, start, context, decision)
);

-- The list of keys counts the tools that changed; they are few.
CREATE INDEX tool_definitions_changed ON tool_definitions (connected_tool_id) WHERE changed_digest IS NOT NULL;

-- How a channel has done with its newest messages.
CREATE INDEX notifications_channel ON notifications (channel_name, channel, id);
