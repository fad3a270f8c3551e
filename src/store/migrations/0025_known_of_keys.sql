-- How many values the runs of a key know together is counted from the index alone.
CREATE INDEX runs_known ON runs (key_id, known);
