-- The connections of a credential by their last use, so that those past its bound are found.
CREATE INDEX connections_credential ON connections (key_id, session_id, used_at);
