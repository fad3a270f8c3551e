-- The authorization server (JSON: its issuer and endpoints) with which somebody first signed in to the server of a
-- Connected Tool. Another one is refused until an admin enters the sign-in again.
ALTER TABLE connected_tools ADD COLUMN authorization_server text;

-- 1 if a provider brought this operator and did not say that the e-mail is theirs; empty for all others.
ALTER TABLE operators ADD COLUMN email_unverified bigint;
