#!/usr/bin/env bash
# One story interrupted at every place there is: after every commit, before and after every call that writes, woken at every step. The
# ordinary tests take only some of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
FIXPOINT_LONG=1 exec cargo test --locked --test it recovery -- --nocapture --test-threads 2
