#!/usr/bin/env bash
# Signed deliveries a second, and how long an answer takes, beside a receiver on the same libraries that verifies and stores
# nothing. FIXPOINT_SECONDS says how long each is measured. Arguments go to cargo: `--release` for figures that count.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test --locked "$@" --test it process::throughput -- --ignored --nocapture
