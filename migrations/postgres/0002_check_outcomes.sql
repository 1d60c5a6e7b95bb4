-- How checks failed, and whether the same check later passed on the very same commit: what failed and passed without a
-- change is flaky.
CREATE TABLE check_outcomes (
    repo      BIGINT NOT NULL,
    -- The check's name and the normalised error.
    signature TEXT NOT NULL,
    head      TEXT NOT NULL,
    check_name TEXT NOT NULL,
    failed_at BIGINT NOT NULL,
    passed_at BIGINT,
    PRIMARY KEY (repo, signature, head)
);
CREATE INDEX check_outcomes_head ON check_outcomes (repo, head) WHERE passed_at IS NULL;
CREATE INDEX check_outcomes_age ON check_outcomes (failed_at);
