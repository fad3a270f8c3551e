-- When somebody last signed in here with a provider's account: the provider's word about their role and groups is as old.
-- Empty for an account that only a company token has named. For accounts that exist already, it is when the newest sign-in
-- of their operator that is still open began.
ALTER TABLE identities ADD COLUMN signed_on_at bigint;
UPDATE identities SET signed_on_at =
  (SELECT max(sign_ins.created_at) FROM sign_ins WHERE sign_ins.operator_id = identities.operator_id);
