#!/usr/bin/env bash
# Checks licences, bans and sources of every dependency; advisories too where their list can be reached.
set -euo pipefail
cd "$(dirname "$0")/.."

# The version this project's deny.toml is written for.
version=0.20.2
tools=${FIXPOINT_TOOLS:-$PWD/.cache/tools}
deny=$tools/bin/cargo-deny
if ! "$deny" --version 2>/dev/null | grep -qF "$version"; then
    deny=$(command -v cargo-deny || true)
fi
if [ -z "$deny" ] || ! "$deny" --version | grep -qF "$version"; then
    cargo install --quiet --locked --version "$version" --root "$tools" cargo-deny
    deny=$tools/bin/cargo-deny
fi
"$deny" --locked check licenses bans sources
