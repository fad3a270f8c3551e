-- Requests per client and minute, where several replicas count together. Two minutes are kept.

CREATE TABLE request_counts (
  minute bigint NOT NULL,
  client text NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (minute, client)
);
