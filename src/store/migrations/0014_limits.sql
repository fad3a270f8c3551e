-- What limits have counted. Calls that stop counting at the same time share a row, and what is used is the sum of the
-- rows that have not ended. `limit_id` stands for a policy, the name of a limit and what it counts; `key_id` is null if
-- the calls of several keys are counted together.
CREATE TABLE limit_counts (
  limit_id text NOT NULL,
  subject text NOT NULL,
  ends_at bigint NOT NULL,
  amount bigint NOT NULL,
  policy_id text NOT NULL,
  name text NOT NULL,
  key_id text,
  PRIMARY KEY (limit_id, subject, ends_at)
);
CREATE INDEX limit_counts_key ON limit_counts (key_id, limit_id, subject);
CREATE INDEX limit_counts_ended ON limit_counts (ends_at);
