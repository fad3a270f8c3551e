-- What was hidden of a result that was looked at, in numbers, as JSON; null for results that no policy has a say about.
ALTER TABLE outcomes ADD COLUMN result text;
