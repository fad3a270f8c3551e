-- An approval is bound to the definition that its tool had when it was asked for, and can be withdrawn. A grant
-- remembers that definition: if the tool has changed, the grant frees it only if it was asked for after the change.
ALTER TABLE approvals ADD COLUMN definition_digest text;
ALTER TABLE approvals ADD COLUMN withdrawn_at bigint;
ALTER TABLE grants ADD COLUMN definition_digest text;
