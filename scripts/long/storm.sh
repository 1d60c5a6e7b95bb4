#!/usr/bin/env bash
# A thousand deliveries, doubled, out of order and a third of them lost, against four servers over one PostgreSQL: one is killed
# with -9, one is frozen for longer than its lease and woken again, PostgreSQL is restarted in the middle. Then as many against a server
# that reads GitHub's list and is killed in the middle of it, four times.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo test --locked --test it process::storm -- --ignored --nocapture
FIXPOINT_ISSUES=60 exec cargo test --locked --test it process::pull -- --nocapture
