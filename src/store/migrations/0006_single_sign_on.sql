-- Single sign-on: sign-ons in progress, the operators of a provider's accounts, and the operators who were removed.

-- The browser knows a sign-on by two values, of which only hashes are kept. What the provider's answer is compared with
-- is encrypted.
CREATE TABLE sign_ons (
  hash text NOT NULL PRIMARY KEY,
  browser_hash text NOT NULL,
  state_sealed text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_ons_expiry ON sign_ons (expires_at);

-- Accounts outlive their operator: an account whose operator was removed is recognised and stays excluded.
CREATE TABLE identities (
  issuer text NOT NULL,
  subject text NOT NULL,
  operator_id text NOT NULL,
  -- 1 while the provider's claims decide the operator's role.
  decides_role bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_operator ON identities (operator_id);

-- E-mail addresses for which single sign-on may not create an operator until somebody invites them.
CREATE TABLE removed_operators (
  email text NOT NULL PRIMARY KEY,
  operator_id text NOT NULL,
  removed_at bigint NOT NULL
);
