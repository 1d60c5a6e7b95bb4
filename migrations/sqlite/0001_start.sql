-- Times are milliseconds since 1970-01-01 UTC by this database's clock; ids of GitHub are its numbers.
-- JSON is kept as text: the two databases then hold the same bytes, and a U+0000 in a comment is no error.

CREATE TABLE deliveries (
    seq       INTEGER PRIMARY KEY AUTOINCREMENT,
    guid      TEXT NOT NULL UNIQUE,
    event     TEXT NOT NULL,
    body      BLOB NOT NULL,
    -- The delivery id is not signed, the body is: a replay under a new id is known by this.
    body_hash TEXT NOT NULL UNIQUE,
    at        BIGINT NOT NULL,
    -- NULL while open; then taken, ignored or quarantined.
    fate      TEXT,
    reason    TEXT
);
CREATE INDEX deliveries_open ON deliveries (seq) WHERE fate IS NULL;

CREATE TABLE subjects (
    key TEXT PRIMARY KEY,
    at  BIGINT NOT NULL
);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    short        TEXT NOT NULL,
    installation BIGINT NOT NULL,
    repo         BIGINT NOT NULL,
    owner        TEXT NOT NULL,
    name         TEXT NOT NULL,
    issue        BIGINT NOT NULL,
    -- From its first push on.
    branch       TEXT,
    pull         BIGINT,
    head         TEXT,
    phase        TEXT NOT NULL,
    done         BOOLEAN NOT NULL,
    epoch        BIGINT NOT NULL DEFAULT 0,
    lease_owner  TEXT,
    lease_until  BIGINT,
    wake_at      BIGINT,
    -- When it was last claimed: who has waited longest comes first.
    served       BIGINT NOT NULL,
    created      BIGINT NOT NULL,
    updated      BIGINT NOT NULL,
    -- What its entries are folded from.
    first        TEXT NOT NULL,
    state        TEXT NOT NULL
);
CREATE UNIQUE INDEX sessions_live_issue ON sessions (repo, issue) WHERE NOT done;
CREATE UNIQUE INDEX sessions_live_branch ON sessions (repo, branch) WHERE NOT done AND branch IS NOT NULL;
CREATE INDEX sessions_pull ON sessions (repo, pull) WHERE pull IS NOT NULL;
CREATE INDEX sessions_head ON sessions (repo, head) WHERE NOT done;
CREATE INDEX sessions_thread ON sessions (repo, issue);
CREATE INDEX sessions_short ON sessions (short);
CREATE INDEX sessions_wake ON sessions (wake_at) WHERE wake_at IS NOT NULL;
CREATE INDEX sessions_lease ON sessions (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX sessions_created ON sessions (created);

CREATE TABLE inbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    entry      TEXT NOT NULL,
    at         BIGINT NOT NULL,
    -- Its place in the order of steps; NULL while unread.
    stepped_no BIGINT,
    -- What it was stepped with, so that it can be stepped again.
    stepped_at BIGINT,
    limits     TEXT,
    ignored    TEXT
);
CREATE INDEX inbox_unread ON inbox (session, id) WHERE stepped_no IS NULL;
CREATE UNIQUE INDEX inbox_stepped ON inbox (session, stepped_no) WHERE stepped_no IS NOT NULL;

CREATE TABLE effects (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    session  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    effect   TEXT NOT NULL,
    -- intended, done or failed.
    state    TEXT NOT NULL DEFAULT 'intended',
    result   TEXT,
    error    TEXT,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_at  BIGINT NOT NULL
);
CREATE INDEX effects_intended ON effects (session, id) WHERE state = 'intended';

CREATE TABLE journal (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    request BIGINT NOT NULL,
    round   BIGINT NOT NULL,
    entry   TEXT NOT NULL,
    tree    TEXT,
    at      BIGINT NOT NULL
);
CREATE INDEX journal_session ON journal (session, id);

CREATE TABLE shown (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    thing   TEXT NOT NULL,
    remote  TEXT NOT NULL,
    hash    TEXT NOT NULL,
    PRIMARY KEY (session, thing)
);

CREATE TABLE patches (
    session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    patch   BLOB NOT NULL,
    at      BIGINT NOT NULL
);

CREATE TABLE spent (
    -- 2026-01-31
    day    TEXT NOT NULL,
    -- repo or installation, with its id.
    scope  TEXT NOT NULL,
    id     BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    PRIMARY KEY (day, scope, id)
);
