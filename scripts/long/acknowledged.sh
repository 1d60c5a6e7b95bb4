#!/usr/bin/env bash
# A server is killed with -9 every ten seconds while signed deliveries come as fast as it takes them, until 100,000 were
# acknowledged; then each of them is in its database. FIXPOINT_DELIVERIES says how many, FIXPOINT_SECONDS ends it sooner. The
# ordinary tests do the same for six seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test --locked --test it process::acknowledged::c1_a_hundred -- --ignored --nocapture
