#!/usr/bin/env python3
"""Are all these deliveries in the database? Knows the table's name and nothing else of fixpoint.

    scripts/long/acknowledged.py DATABASE IDS

IDS holds one delivery's id a line. What is missing is told on standard error; the exit code is 1 if something is.
"""

import sqlite3
import sys
from pathlib import Path

# Of what is missing so many are named.
NAMED = 10


def main():
    database, ids = Path(sys.argv[1]), Path(sys.argv[2])
    wanted = set(ids.read_text().split())
    db = sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True)
    sound = db.execute("PRAGMA quick_check").fetchone()[0]
    if sound != "ok":
        print(f"the database is damaged: {sound}", file=sys.stderr)
        return 1
    kept = {guid for (guid,) in db.execute("SELECT guid FROM deliveries")}
    (settled,) = db.execute("SELECT count(*) FROM deliveries WHERE fate IS NOT NULL").fetchone()
    missing = sorted(wanted - kept)
    print(f"{len(wanted)} wanted, {len(missing)} missing; {len(kept)} in the database, {settled} of them settled")
    for guid in missing[:NAMED]:
        print(f"acknowledged and lost: {guid}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
