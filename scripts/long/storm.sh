#!/usr/bin/env bash
# A thousand deliveries, doubled, out of order and a third of them lost, against four servers over one PostgreSQL: one is killed
# with -9, one is frozen for longer than its lease and woken again, PostgreSQL is restarted in the middle.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test --locked --test it process::storm -- --ignored --nocapture
