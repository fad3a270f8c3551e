-- The active sessions of a key are counted without reading their rows: SQLite reads the whole scope of a
-- session, which may have 64 KiB, before it reaches the columns behind it.
CREATE INDEX sessions_active ON sessions (key_id, id, expires_at, person_id, revoked_at) WHERE revoked_at IS NULL;
