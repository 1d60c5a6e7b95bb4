#!/usr/bin/env bash
# Five thousand connections that send a byte now and then, a million requests that are no deliveries, and an honest sender beside
# them: who is answered, how soon, and the most memory that the server's process held. FIXPOINT_REQUESTS says how many,
# FIXPOINT_SECONDS ends it sooner. Arguments go to cargo: `--release` for figures that count. The ordinary tests do the same with fewer.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test --locked "$@" --test it process::edge::t42_t45_a_million -- --ignored --nocapture
