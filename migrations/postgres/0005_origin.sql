-- The delivery that an entry, and what it counted for, came from. Where the session is over before the entry is read, the
-- delivery is settled anew.
ALTER TABLE inbox ADD COLUMN guid TEXT;
ALTER TABLE subjects ADD COLUMN guid TEXT;
CREATE INDEX inbox_guid ON inbox (guid) WHERE guid IS NOT NULL;
CREATE INDEX subjects_guid ON subjects (guid) WHERE guid IS NOT NULL;
