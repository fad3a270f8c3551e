-- A policy version keeps the text that it was written in, comments included, as its source. An approval and its grant
-- remember the rule that asked.
ALTER TABLE policy_versions ADD COLUMN source text;
ALTER TABLE approvals ADD COLUMN rule_digest text;
ALTER TABLE grants ADD COLUMN rule_digest text;
