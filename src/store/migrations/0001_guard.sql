-- One text for both engines: text and bigint columns only, times in milliseconds since 1970, booleans as
-- 0 and 1, ids (UUID version 7) and times always given by the program.

CREATE TABLE settings (
  name text NOT NULL PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE policies (
  id text NOT NULL PRIMARY KEY,
  name text NOT NULL,
  description text NOT NULL,
  version bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- A deleted policy keeps its versions: audit entries speak of them.
  deleted_at bigint
);
CREATE UNIQUE INDEX policies_name ON policies (name) WHERE deleted_at IS NULL;

CREATE TABLE policy_versions (
  policy_id text NOT NULL,
  version bigint NOT NULL,
  name text NOT NULL,
  rules text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  PRIMARY KEY (policy_id, version)
);

CREATE TABLE keys (
  id text NOT NULL PRIMARY KEY,
  name text NOT NULL,
  hash text NOT NULL,
  prefix text NOT NULL,
  policy_id text NOT NULL,
  require_sign_in bigint NOT NULL,
  notify_sealed text,
  forward text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
CREATE UNIQUE INDEX keys_hash ON keys (hash);
CREATE INDEX keys_policy ON keys (policy_id) WHERE revoked_at IS NULL;

CREATE TABLE sessions (
  id text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  hash text NOT NULL,
  prefix text NOT NULL,
  label text NOT NULL,
  scope_tools text,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint
);
CREATE UNIQUE INDEX sessions_hash ON sessions (hash);
CREATE INDEX sessions_key ON sessions (key_id, id);

-- Append-only. The id sorts by time, so it is also the order of paging and the range of a time filter.
CREATE TABLE audit (
  id text NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  key_id text NOT NULL,
  session_id text,
  surface text NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  decision text NOT NULL,
  reason text NOT NULL,
  policy_id text NOT NULL,
  policy_version bigint NOT NULL,
  rule_index bigint,
  reference_id text,
  latency_ms bigint NOT NULL
);
CREATE INDEX audit_key ON audit (key_id, id);
CREATE INDEX audit_session ON audit (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_tool ON audit (tool_name, id);
-- Most calls are allowed, and paging by id finds those at once: an index on them would cost every check 3 µs.
CREATE INDEX audit_decision ON audit (decision, id) WHERE decision <> 'allow';
CREATE INDEX audit_surface ON audit (surface, id) WHERE surface <> 'check';

CREATE TABLE approvals (
  id text NOT NULL PRIMARY KEY,
  tool_call_id text NOT NULL,
  token_hash text NOT NULL,
  key_id text NOT NULL,
  session_id text,
  policy_id text NOT NULL,
  surface text NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  -- A keyed digest of the arguments: it binds the approval to its call and tells nothing about them.
  args_digest text NOT NULL,
  reason text NOT NULL,
  status text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  resolved_at bigint,
  resolved_by text,
  grant_expires_at bigint,
  spent_at bigint
);
CREATE UNIQUE INDEX approvals_token ON approvals (token_hash);
CREATE INDEX approvals_status ON approvals (status, id);
CREATE INDEX approvals_open ON approvals (key_id, session_id) WHERE status = 'pending';
CREATE INDEX approvals_lapsing ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_spendable ON approvals (key_id, args_digest) WHERE status = 'approved' AND spent_at IS NULL;

CREATE TABLE grants (
  id text NOT NULL PRIMARY KEY,
  reference_id text NOT NULL,
  key_id text NOT NULL,
  server_name text NOT NULL,
  tool_name text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  revoked_at bigint
);
CREATE INDEX grants_live ON grants (key_id, tool_name, server_name) WHERE revoked_at IS NULL;

CREATE TABLE webhooks (
  id text NOT NULL PRIMARY KEY,
  url text NOT NULL,
  -- Null: events of every key.
  key_id text,
  events text NOT NULL,
  secret_sealed text NOT NULL,
  previous_secret_sealed text,
  previous_secret_until bigint,
  created_at bigint NOT NULL,
  disabled_at bigint,
  disabled_reason text,
  deleted_at bigint
);
CREATE INDEX webhooks_live ON webhooks (id) WHERE deleted_at IS NULL;

CREATE TABLE events (
  id text NOT NULL PRIMARY KEY,
  type text NOT NULL,
  reference_id text NOT NULL,
  body text NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE deliveries (
  id text NOT NULL PRIMARY KEY,
  event_id text NOT NULL,
  webhook_id text NOT NULL,
  status text NOT NULL,
  attempts bigint NOT NULL,
  next_attempt_at bigint,
  leased_until bigint NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_attempt_at, leased_until) WHERE status = 'pending';
CREATE INDEX deliveries_webhook ON deliveries (webhook_id, id);

CREATE TABLE attempts (
  id text NOT NULL PRIMARY KEY,
  delivery_id text NOT NULL,
  at bigint NOT NULL,
  status bigint,
  duration_ms bigint NOT NULL,
  error text,
  response text
);
CREATE INDEX attempts_delivery ON attempts (delivery_id, id);

-- Where an approval's link goes. The token is kept encrypted, and only until it was sent or has lapsed.
CREATE TABLE notifications (
  id text NOT NULL PRIMARY KEY,
  approval_id text NOT NULL,
  key_id text NOT NULL,
  channel text NOT NULL,
  token_sealed text,
  status text NOT NULL,
  attempts bigint NOT NULL,
  next_attempt_at bigint,
  leased_until bigint NOT NULL,
  last_error text,
  created_at bigint NOT NULL
);
CREATE INDEX notifications_due ON notifications (key_id, channel, next_attempt_at, leased_until)
  WHERE status = 'pending';
CREATE INDEX notifications_approval ON notifications (approval_id, id);
CREATE INDEX notifications_status ON notifications (status, id);

CREATE TABLE operators (
  id text NOT NULL PRIMARY KEY,
  email text NOT NULL,
  role text NOT NULL,
  password_hash text,
  created_at bigint NOT NULL
);
CREATE UNIQUE INDEX operators_email ON operators (email);

CREATE TABLE setup_links (
  hash text NOT NULL PRIMARY KEY,
  created_at bigint NOT NULL
);

-- Who changed what through the administration, and when.
CREATE TABLE changes (
  id text NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  detail text NOT NULL
);
