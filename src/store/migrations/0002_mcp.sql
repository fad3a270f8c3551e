-- Connected Tools of keys, the definitions of their tools, MCP sessions, and the outcomes of forwarded calls.

CREATE TABLE connected_tools (
  id text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  name text NOT NULL,
  transport text NOT NULL,
  -- The address of an http or sse server, or the name of a declared stdio server.
  target text NOT NULL,
  headers_sealed text,
  created_at bigint NOT NULL
);
CREATE UNIQUE INDEX connected_tools_name ON connected_tools (key_id, name);

-- Each tool's definition as it was first seen or last accepted, and the one it has now if that differs.
CREATE TABLE tool_definitions (
  connected_tool_id text NOT NULL,
  tool_name text NOT NULL,
  digest text NOT NULL,
  definition text NOT NULL,
  changed_digest text,
  changed_definition text,
  changed_at bigint,
  seen_at bigint NOT NULL,
  PRIMARY KEY (connected_tool_id, tool_name)
);

-- MCP sessions, for clients of the protocol's older era. Any replica can serve them.
CREATE TABLE connections (
  id text NOT NULL PRIMARY KEY,
  key_id text NOT NULL,
  session_id text,
  protocol_version text NOT NULL,
  log_level text,
  created_at bigint NOT NULL,
  used_at bigint NOT NULL,
  ended_at bigint
);
CREATE INDEX connections_used ON connections (used_at);

-- The outcome of a forwarded call, that is, how it ended and how long it took, but not its result.
CREATE TABLE outcomes (
  tool_call_id text NOT NULL PRIMARY KEY,
  outcome text NOT NULL,
  duration_ms bigint NOT NULL,
  at bigint NOT NULL
);
