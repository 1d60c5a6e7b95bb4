#!/usr/bin/env bash
# Takes the pictures of docs/tour/README.md: the page in GitHub's look, light and dark, on a desk (1012 px) and on a phone
# (390 px).
#
#   scripts/tour.sh            all of them into .cache/tour/pictures
#   scripts/tour.sh --keep     and those that the page links into docs/tour
#
# Needs npm, and Chromium with its driver (scripts/ci-packages.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
cache=.cache/tour
mkdir -p "$cache"
# Pinned: another version of the style sheet is another picture.
npm install --silent --no-save --no-audit --no-fund --prefix "$cache" \
    marked@18.2.1 github-markdown-css@5.9.0 sharp@0.35.5
cp scripts/tour.mjs "$cache/tour.mjs"
node "$cache/tour.mjs" docs/tour/README.md "$cache/pictures"
if [ "${1:-}" = --keep ]; then
    cp "$cache"/pictures/*-wide-light.png "$cache"/pictures/*-narrow-dark.png docs/tour/
fi
