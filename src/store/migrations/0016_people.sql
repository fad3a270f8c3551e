-- People: sessions that act for a person who signed in, our authorization server, sign-ins to servers, and passkeys.

-- `person_groups` are the groups that a company's token names, null for those of the operator. `client_id` is the OAuth
-- client. `hash` of an OAuth session is no token's hash: its tokens are in `oauth_tokens`.
ALTER TABLE sessions ADD COLUMN person_id text;
ALTER TABLE sessions ADD COLUMN person_groups text;
ALTER TABLE sessions ADD COLUMN client_id text;
ALTER TABLE sessions ADD COLUMN client_name text;
ALTER TABLE sessions ADD COLUMN used_at bigint;
ALTER TABLE sessions ADD COLUMN revoked_because text;
-- The hash of what a company's token says, without its signature: several signatures can fit the same token.
ALTER TABLE sessions ADD COLUMN signed_hash text;
CREATE UNIQUE INDEX sessions_signed ON sessions (signed_hash) WHERE signed_hash IS NOT NULL;
CREATE INDEX sessions_person ON sessions (person_id, id) WHERE person_id IS NOT NULL;
CREATE INDEX sessions_client ON sessions (client_id) WHERE client_id IS NOT NULL;

-- The groups and people to whom a key is open, as a JSON list.
ALTER TABLE keys ADD COLUMN open_to text NOT NULL DEFAULT '[]';
CREATE INDEX keys_open ON keys (id) WHERE open_to <> '[]';

ALTER TABLE audit_contexts ADD COLUMN person_id text;
DROP VIEW audit;
CREATE VIEW audit AS
  SELECT e.id, e.at, c.key_id, e.session_id, c.person_id, e.surface, c.server_name, c.tool_name, e.decision, c.reason,
    c.policy_id, c.policy_version, c.rule_index, e.reference_id, e.latency_ms
  FROM audit_entries e JOIN audit_contexts c ON c.id = e.context;

-- `proof` is what an answer has to be signed with, null if it need not be.
ALTER TABLE approvals ADD COLUMN person_id text;
ALTER TABLE approvals ADD COLUMN proof text;
CREATE INDEX approvals_person ON approvals (person_id, id) WHERE person_id IS NOT NULL;

-- Clients that an admin has registered. Those that register themselves are no rows: their id says what they registered.
CREATE TABLE oauth_clients (
  id text NOT NULL PRIMARY KEY,
  name text NOT NULL,
  redirect_uris text NOT NULL,
  created_at bigint NOT NULL
);

-- A code is exchanged once. `session_id` is what came of it, which ends if the code is used again.
CREATE TABLE oauth_codes (
  hash text NOT NULL PRIMARY KEY,
  client_id text NOT NULL,
  client_name text NOT NULL,
  redirect_uri text NOT NULL,
  person_id text NOT NULL,
  key_id text NOT NULL,
  challenge text NOT NULL,
  expires_at bigint NOT NULL,
  session_id text
);
CREATE INDEX oauth_codes_expiry ON oauth_codes (expires_at);

-- Access and refresh tokens of a session. `replaced_at` is when a refresh token was first used.
CREATE TABLE oauth_tokens (
  hash text NOT NULL PRIMARY KEY,
  session_id text NOT NULL,
  kind text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  replaced_at bigint
);
CREATE INDEX oauth_tokens_session ON oauth_tokens (session_id);
CREATE INDEX oauth_tokens_expiry ON oauth_tokens (expires_at);

-- How we sign in to a Connected Tool's server, encrypted, and for whom: the key or each person.
ALTER TABLE connected_tools ADD COLUMN oauth_sealed text;
ALTER TABLE connected_tools ADD COLUMN oauth_as text;
ALTER TABLE connected_tools ADD COLUMN updated_at bigint;
CREATE INDEX connected_tools_personal ON connected_tools (name, id) WHERE oauth_as = 'person';

-- Our sign-ins to servers, one for each tool and person (an empty id for the key). `version` grows with every new pair of
-- tokens; `refreshing` is 1 from before a refresh token is sent until its successor is stored. `wanted` are the scopes
-- that were asked for and those that the server has asked for since; `step_ups` counts how often it did so in vain.
CREATE TABLE server_sign_ins (
  tool_id text NOT NULL,
  person_id text NOT NULL,
  tokens_sealed text,
  account text,
  scopes text,
  wanted text,
  step_ups bigint NOT NULL DEFAULT 0,
  expires_at bigint,
  version bigint NOT NULL,
  refreshing bigint NOT NULL DEFAULT 0,
  leased_until bigint NOT NULL DEFAULT 0,
  holder text,
  ended_because text,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (tool_id, person_id)
);
CREATE INDEX server_sign_ins_person ON server_sign_ins (person_id);

-- What servers registered for us.
CREATE TABLE server_clients (
  tool_id text NOT NULL,
  issuer text NOT NULL,
  client_sealed text NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (tool_id, issuer)
);

-- Sign-ins to servers that are under way in a browser.
CREATE TABLE server_visits (
  hash text NOT NULL PRIMARY KEY,
  browser_hash text NOT NULL,
  tool_id text NOT NULL,
  person_id text NOT NULL,
  state_sealed text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX server_visits_expiry ON server_visits (expires_at);
CREATE INDEX server_visits_tool ON server_visits (tool_id);
CREATE INDEX server_visits_person ON server_visits (person_id);

-- Addresses at which one person can sign in to one server.
CREATE TABLE server_tickets (
  hash text NOT NULL PRIMARY KEY,
  tool_id text NOT NULL,
  person_id text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX server_tickets_expiry ON server_tickets (expires_at);
CREATE INDEX server_tickets_tool ON server_tickets (tool_id);
CREATE INDEX server_tickets_person ON server_tickets (person_id);

-- The public keys with which people sign in and sign their answers to approvals. Nothing in them is secret.
CREATE TABLE passkeys (
  id text NOT NULL PRIMARY KEY,
  operator_id text NOT NULL,
  name text NOT NULL,
  public_key text NOT NULL,
  counter bigint NOT NULL,
  transports text NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint
);
CREATE INDEX passkeys_operator ON passkeys (operator_id, created_at);

-- The challenges that were answered, for as long as somebody could answer them again.
CREATE TABLE passkey_challenges (
  hash text NOT NULL PRIMARY KEY,
  expires_at bigint NOT NULL
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);

-- The signed answers to approvals that want proof.
CREATE TABLE approval_proofs (
  approval_id text NOT NULL,
  operator_id text NOT NULL,
  given_by text NOT NULL,
  action text NOT NULL,
  nonce text NOT NULL,
  credential_id text NOT NULL,
  public_key text NOT NULL,
  rp_id text NOT NULL,
  origin text NOT NULL,
  response text NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY (approval_id, operator_id)
);

-- Nonces for such answers, one for each operator and approval at a time.
CREATE TABLE approval_nonces (
  approval_id text NOT NULL,
  operator_id text NOT NULL,
  nonce text NOT NULL,
  action text NOT NULL,
  expires_at bigint NOT NULL,
  PRIMARY KEY (approval_id, operator_id)
);
CREATE INDEX approval_nonces_expiry ON approval_nonces (expires_at);

-- Whether the client of an MCP session can send its user to an address (URL elicitation).
ALTER TABLE connections ADD COLUMN elicits_url bigint NOT NULL DEFAULT 0;
