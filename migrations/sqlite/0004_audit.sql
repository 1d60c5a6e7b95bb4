-- Who asked, what was refused, what left a sandbox, what was published. No reference to sessions: it outlives them.
CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      BIGINT NOT NULL,
    -- NULL where it was refused before it reached one.
    session TEXT,
    repo    BIGINT NOT NULL,
    thread  BIGINT,
    -- Whose doing; NULL: fixpoint's own.
    account BIGINT,
    login   TEXT,
    kind    TEXT NOT NULL,
    fact    TEXT NOT NULL
);
CREATE INDEX audit_session ON audit (session, id) WHERE session IS NOT NULL;
CREATE INDEX audit_thread ON audit (repo, thread) WHERE session IS NULL;
CREATE INDEX audit_age ON audit (at);

-- Lines are added and, when they are old, removed. Only whose doing it was may be forgotten.
CREATE TRIGGER audit_stands BEFORE UPDATE OF id, at, session, repo, thread, kind, fact ON audit
BEGIN
    SELECT RAISE(ABORT, 'a line of the audit is never changed');
END;

CREATE INDEX deliveries_age ON deliveries (at) WHERE fate IS NOT NULL;
CREATE INDEX subjects_age ON subjects (at);
CREATE INDEX sessions_over ON sessions (updated) WHERE done;
