-- Deliveries are taken up by several at once and in order within a thread; a claim on one runs out with its node.
ALTER TABLE deliveries ADD COLUMN thread TEXT;
ALTER TABLE deliveries ADD COLUMN tries BIGINT NOT NULL DEFAULT 0;
-- Not to be taken up before: somebody is at it, or it is a pause between two tries.
ALTER TABLE deliveries ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN taken_by TEXT;
CREATE INDEX deliveries_thread ON deliveries (thread, seq) WHERE fate IS NULL AND thread IS NOT NULL;
CREATE INDEX deliveries_quarantined ON deliveries (seq) WHERE fate = 'quarantined';

-- What one node at a time does, and how far it has come.
CREATE TABLE turns (
    name    TEXT PRIMARY KEY,
    owner   TEXT,
    until   BIGINT NOT NULL,
    reached BIGINT
);

-- Deliveries that GitHub could not hand over, and how often they were asked for again.
CREATE TABLE missed (
    guid  TEXT PRIMARY KEY,
    -- GitHub's id of the attempt that failed.
    hook  BIGINT NOT NULL,
    at    BIGINT NOT NULL,
    times BIGINT NOT NULL DEFAULT 0,
    asked BIGINT
);

-- A place to run in, from its being taken until the round runs; and the line of those that wait for one.
ALTER TABLE sessions ADD COLUMN place BIGINT;
ALTER TABLE sessions ADD COLUMN waits_since BIGINT;
ALTER TABLE sessions ADD COLUMN waits_seen BIGINT;
CREATE INDEX sessions_waiting ON sessions (waits_since) WHERE waits_since IS NOT NULL;
CREATE INDEX sessions_placed ON sessions (place) WHERE place IS NOT NULL;
CREATE INDEX sessions_working ON sessions (id) WHERE phase = 'working';
