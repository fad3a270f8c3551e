-- An approval is bound to the definition that its tool showed when it was asked for, and can be withdrawn.
-- A grant remembers that definition: it frees a tool that has changed since only if it was asked for after that.
ALTER TABLE approvals ADD COLUMN definition_digest text;
ALTER TABLE approvals ADD COLUMN withdrawn_at bigint;
ALTER TABLE grants ADD COLUMN definition_digest text;
