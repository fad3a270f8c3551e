-- Counts of the audit log by time (rollups.ts), the progress of background work, and the replica that does it.

CREATE TABLE rollups (
  -- The length of the bucket in milliseconds: a minute, an hour or a day.
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

-- Pending and failed deliveries are counted, and the oldest is looked up. Most deliveries are neither.
CREATE INDEX deliveries_status ON deliveries (status, id) WHERE status <> 'delivered';
