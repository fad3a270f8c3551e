-- Tool servers that several keys share. What a Connected Tool keeps for itself (its target, headers and sign-in) stands
-- here once for all of them, and so do the definitions and sign-ins, which are kept under the id of the tool server.
-- `trust` says whether the first definition of a tool is accepted as it is seen.
CREATE TABLE tool_servers (
  id text NOT NULL PRIMARY KEY,
  name text NOT NULL,
  transport text NOT NULL,
  target text NOT NULL,
  headers_sealed text,
  oauth_sealed text,
  oauth_as text,
  authorization_server text,
  trust text NOT NULL DEFAULT 'first',
  created_at bigint NOT NULL,
  updated_at bigint
);
CREATE UNIQUE INDEX tool_servers_name ON tool_servers (name);
CREATE INDEX tool_servers_personal ON tool_servers (id) WHERE oauth_as = 'person';

-- A Connected Tool that names a tool server has no definition of its own: its transport is `shared`, with which a replica
-- of the version before connects to nothing.
ALTER TABLE connected_tools ADD COLUMN tool_server_id text;
ALTER TABLE connected_tools ADD COLUMN trust text NOT NULL DEFAULT 'first';
CREATE INDEX connected_tools_server ON connected_tools (tool_server_id, id) WHERE tool_server_id IS NOT NULL;
