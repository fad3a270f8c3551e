-- The history of approvals is read in the order in which they ended. Many calls that wait do not stand before it.
CREATE INDEX approvals_ended ON approvals (resolved_at, id) WHERE resolved_at IS NOT NULL;
