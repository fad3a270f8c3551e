-- The result of a coding agent's call makes values known if `trusted` is 1, or null as in calls of the version before, and if
-- no other call of its name has 0 there.
ALTER TABLE run_calls ADD COLUMN trusted bigint;
