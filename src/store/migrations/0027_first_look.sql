-- Who accepted the definition with this digest. What was accepted before counts as the first definition that was seen.
ALTER TABLE tool_definitions ADD COLUMN accepted_by text;
ALTER TABLE tool_definitions ADD COLUMN accepted_at bigint;
ALTER TABLE tool_definitions ADD COLUMN accepted_digest text;
-- What is known of the definition that the tool has now, beside its digest: a replica of the version before changes the one
-- without the other. `looked` is the version of the lists that were used; 0 if nobody has looked.
ALTER TABLE tool_definitions ADD COLUMN look text;
ALTER TABLE tool_definitions ADD COLUMN looked bigint NOT NULL DEFAULT 0;
-- Names with the same skeleton look alike.
ALTER TABLE tool_definitions ADD COLUMN skeleton text;
CREATE INDEX tool_definitions_looked ON tool_definitions (looked);
CREATE INDEX tool_definitions_skeleton ON tool_definitions (skeleton, tool_name);
CREATE INDEX tool_definitions_source ON tool_definitions (connected_tool_id, skeleton);
