-- The audit log counted by time (rollups.ts), how far background work has come, and who is at it.

CREATE TABLE rollups (
  -- Length of the bucket in milliseconds: a minute, an hour or a day.
  span bigint NOT NULL,
  kind text NOT NULL,
  start bigint NOT NULL,
  name text NOT NULL,
  decision text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (span, kind, start, name, decision)
);

CREATE TABLE marks (
  name text NOT NULL PRIMARY KEY,
  at bigint NOT NULL
);

CREATE TABLE leases (
  name text NOT NULL PRIMARY KEY,
  holder text NOT NULL,
  until bigint NOT NULL
);

-- What waits or failed is counted, and its oldest looked up; most deliveries are neither.
CREATE INDEX deliveries_status ON deliveries (status, id) WHERE status <> 'delivered';
