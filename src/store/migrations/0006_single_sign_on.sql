-- Single sign-on: sign-ons under way, which account of a provider is which operator, and who was removed.

-- Known to the browser by two values, of which only hashes are here; what the provider's answer is held against is
-- encrypted.
CREATE TABLE sign_ons (
  hash text NOT NULL PRIMARY KEY,
  browser_hash text NOT NULL,
  state_sealed text NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX sign_ons_expiry ON sign_ons (expires_at);

-- They outlive their operator: an account whose operator was removed is known, and stays out.
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

-- E-mails that single sign-on may not make an operator of, until somebody invites them.
CREATE TABLE removed_operators (
  email text NOT NULL PRIMARY KEY,
  operator_id text NOT NULL,
  removed_at bigint NOT NULL
);
