#!/usr/bin/env bash
# A server is killed with -9 at 150 random moments while it works on several sessions at once; then nothing is lost and nothing was done
# twice, without a hand from outside. FIXPOINT_KILLS says how often, FIXPOINT_SEED tells a run again, FIXPOINT_SANDBOX=docker takes containers
# for its sandboxes (scripts/sandbox-image.sh).
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test --locked --test it process::load -- --ignored --nocapture
