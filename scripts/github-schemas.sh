#!/bin/sh
# Brings what GitHub publishes about its own wire into .cache/github, for the tests that compare with it: example webhooks,
# and nothing else yet. Versions are pinned, so that a test never changes by itself. Needs npm and tar.
set -eu

cd "$(dirname "$0")/.."
cache=.cache/github
mkdir -p "$cache"

# bring NAME VERSION FOLDER: unpacks an npm package into $cache/FOLDER, once a version.
bring() {
    done="$cache/$3/.version-$2"
    [ -e "$done" ] && return
    rm -rf "${cache:?}/$3"
    mkdir -p "$cache/$3"
    packed=$(cd "$cache" && npm pack --silent "$1@$2")
    tar -xzf "$cache/$packed" -C "$cache/$3" --strip-components=1
    rm "$cache/$packed"
    touch "$done"
}

bring @octokit/webhooks-examples 7.6.1 webhooks-examples
