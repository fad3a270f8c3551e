-- The sealed log: each audit entry's place in a Merkle tree, given after it was written and never changed, and the
-- signed checkpoints. Nothing here is touched by a check. Hashes are base64.

CREATE TABLE seals (
  seq bigint NOT NULL PRIMARY KEY,
  entry_id text NOT NULL,
  -- Stays when retention removes the entry.
  leaf_hash text NOT NULL
);
CREATE UNIQUE INDEX seals_entry ON seals (entry_id);

-- Whole subtrees of 2^level leaves, for every eighth level: one row more per 256 entries, and a root or a proof
-- reads a few rows per level.
CREATE TABLE seal_nodes (
  level bigint NOT NULL,
  position bigint NOT NULL,
  hash text NOT NULL,
  PRIMARY KEY (level, position)
);

CREATE TABLE checkpoints (
  number bigint NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  size bigint NOT NULL,
  note text NOT NULL,
  -- When the outside target took it, if there is one.
  sent_at bigint
);

-- One row: how far sealing has come and which replica is at it. Whoever writes it raises the revision it read, so
-- that of two that sealed the same entries one commits.
CREATE TABLE sealing (
  name text NOT NULL PRIMARY KEY,
  revision bigint NOT NULL,
  holder text NOT NULL,
  leased_until bigint NOT NULL,
  size bigint NOT NULL,
  newest_id text NOT NULL,
  recent_id text NOT NULL,
  full_id text NOT NULL,
  full_after bigint NOT NULL
);
INSERT INTO sealing (name, revision, holder, leased_until, size, newest_id, recent_id, full_id, full_after)
  VALUES ('audit', 0, '', 0, 0, '', '', '', 0);
