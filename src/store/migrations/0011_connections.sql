-- The MCP sessions of a credential by their last use, to find those beyond its limit.
CREATE INDEX connections_credential ON connections (key_id, session_id, used_at);
