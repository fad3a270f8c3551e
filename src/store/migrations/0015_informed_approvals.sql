-- What an approval keeps so that people know what they approve, and who of them may: the note of the answer; whether the
-- rule shows details of the call (which are never stored); the person in whose name the call was made; the group that
-- has to answer, and how many of it. `value_digests` holds keyed digests of the call's values, for grants that are bound
-- to some of them.
ALTER TABLE approvals ADD COLUMN note text;
ALTER TABLE approvals ADD COLUMN shows bigint NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN person_email text;
ALTER TABLE approvals ADD COLUMN approver_group text;
ALTER TABLE approvals ADD COLUMN votes_needed bigint NOT NULL DEFAULT 1;
ALTER TABLE approvals ADD COLUMN value_digests text;
CREATE INDEX approvals_tool ON approvals (key_id, server_name, tool_name, id);
-- The same call again: its open question, or its denial.
CREATE INDEX approvals_repeated ON approvals (key_id, args_digest) WHERE status IN ('pending', 'denied');

CREATE TABLE approval_votes (
  approval_id text NOT NULL,
  operator_id text NOT NULL,
  voted_by text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (approval_id, operator_id)
);

-- A bound grant frees only the calls of one session, or only calls with the same values at some paths.
ALTER TABLE grants ADD COLUMN session_id text;
ALTER TABLE grants ADD COLUMN same_paths text;
ALTER TABLE grants ADD COLUMN same_digest text;
ALTER TABLE grants ADD COLUMN opened_by text;
ALTER TABLE grants ADD COLUMN used bigint NOT NULL DEFAULT 0;

ALTER TABLE operators ADD COLUMN group_names text NOT NULL DEFAULT '[]';

-- `channel` is the kind of a channel, `channel_name` its name in the settings. `message_ref` names a message that was
-- posted and has to be changed when the question has ended, at `close_at`.
ALTER TABLE notifications ADD COLUMN channel_name text;
ALTER TABLE notifications ADD COLUMN attempted_at bigint;
ALTER TABLE notifications ADD COLUMN message_ref text;
ALTER TABLE notifications ADD COLUMN close_at bigint;
ALTER TABLE notifications ADD COLUMN close_attempts bigint NOT NULL DEFAULT 0;
CREATE INDEX notifications_closing ON notifications (close_at) WHERE close_at IS NOT NULL;
