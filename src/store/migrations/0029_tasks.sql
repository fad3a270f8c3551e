-- Calls that are forwarded and have no outcome yet, of clients that were promised to learn it. `process_id` is the process that
-- waits for the answer; null once it has come, or while a tool server works on it by itself. A process that died leaves `unknown_at`
-- behind, and whoever finds out what happened settles it.
CREATE TABLE executions (
  tool_call_id text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  process_id text,
  at bigint NOT NULL,
  unknown_at bigint,
  settled_ran bigint,
  settled_by text,
  settled_at bigint,
  settled_note text
);
CREATE INDEX executions_process ON executions (process_id) WHERE process_id IS NOT NULL;
CREATE INDEX executions_unknown ON executions (unknown_at, tool_call_id) WHERE unknown_at IS NOT NULL;
CREATE INDEX executions_at ON executions (at);
-- What a client that knows tasks asks about instead of waiting. The id is that of the approval, or that of the call where a tool
-- server answered with a task of its own. `state` is `waiting` (the process holds the call), `begun` (tool_call_id has run or
-- runs) or `gone` (nobody holds the call any more). `cancel_asked_at`: its client does not want the running call any more.
CREATE TABLE tasks (
  id text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  session_id text,
  person_id text,
  state text NOT NULL,
  process_id text,
  tool_call_id text,
  server_task_sealed text,
  cancel_asked_at bigint,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  known_until bigint NOT NULL
);
CREATE INDEX tasks_process ON tasks (process_id) WHERE process_id IS NOT NULL;
CREATE INDEX tasks_call ON tasks (tool_call_id) WHERE tool_call_id IS NOT NULL;
CREATE INDEX tasks_known ON tasks (known_until);
-- Calls that carried an idempotency key, by a keyed digest of the key and of whose it is.
CREATE TABLE idempotent_calls (
  digest text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  call_digest text NOT NULL,
  tool_call_id text NOT NULL,
  reference_id text,
  verdict text NOT NULL,
  known_until bigint NOT NULL
);
CREATE INDEX idempotent_calls_known ON idempotent_calls (known_until);
CREATE INDEX idempotent_calls_call ON idempotent_calls (tool_call_id);
-- Whether clients of the key that know tasks get them, and whether people at their clients are sent to the approval's page.
ALTER TABLE keys ADD COLUMN tasks bigint NOT NULL DEFAULT 1;
ALTER TABLE keys ADD COLUMN approve_here bigint NOT NULL DEFAULT 0;
