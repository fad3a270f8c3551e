-- Operators who sign in: invitations, sign-ins, failed attempts, and the pages to which people return after signing in.

-- E-mail addresses are compared without regard to case, so they are kept in lower case. Until this version there was at
-- most one operator.
UPDATE operators SET email = lower(email);

CREATE TABLE invitations (
  hash text NOT NULL PRIMARY KEY,
  operator_id text NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX invitations_operator ON invitations (operator_id);

CREATE TABLE sign_ins (
  id text NOT NULL PRIMARY KEY,
  operator_id text NOT NULL,
  hash text NOT NULL,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL,
  user_agent text NOT NULL,
  ip text NOT NULL
);
CREATE UNIQUE INDEX sign_ins_hash ON sign_ins (hash);
CREATE INDEX sign_ins_operator ON sign_ins (operator_id, id);
CREATE INDEX sign_ins_used ON sign_ins (used_at);

-- Accounts are kept as digests, because people also type passwords into the field for the e-mail address.
CREATE TABLE sign_in_failures (
  id text NOT NULL PRIMARY KEY,
  account text NOT NULL,
  ip text NOT NULL,
  at bigint NOT NULL
);
CREATE INDEX sign_in_failures_ip ON sign_in_failures (ip, at);
CREATE INDEX sign_in_failures_at ON sign_in_failures (at);

-- The page to return to after signing in, encrypted because the link of an approval is a capability.
CREATE TABLE return_targets (
  hash text NOT NULL PRIMARY KEY,
  target_sealed text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX return_targets_expiry ON return_targets (expires_at);
