-- The sealed log: the place of each audit entry in a Merkle tree, which it gets after it was written and keeps forever,
-- and the signed checkpoints. Checks do not use these tables. Hashes are in base64.

CREATE TABLE seals (
  seq bigint NOT NULL PRIMARY KEY,
  entry_id text NOT NULL,
  -- The row stays when retention removes the entry.
  leaf_hash text NOT NULL
);
CREATE UNIQUE INDEX seals_entry ON seals (entry_id);

-- Complete subtrees of 2^level leaves, for every eighth level. That is one more row per 256 entries, and a root or a
-- proof reads a few rows per level.
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
  -- When it was sent to the target outside, if there is one.
  sent_at bigint
);

-- One row: the progress of sealing and the replica that does it. Each writer increments the revision that it read, so
-- that only one of two replicas that sealed the same entries can commit.
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
