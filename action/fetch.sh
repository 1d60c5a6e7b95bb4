#!/usr/bin/env bash
# Brings the released program of the wanted version onto the runner and checks it, or takes the one that was given.
#
# The checksum comes from the input `sha256`, which pins the very file, else from the release's own list; where the GitHub
# CLI is at hand and the release is GitHub's, it must also be proven to be built by this action's repository.
set -euo pipefail

refuse() {
    echo "::error title=fixpoint::$1"
    exit 1
}

if [ -n "$BINARY" ]; then
    [ -x "$BINARY" ] || refuse "input binary: no program is at this path"
    echo "program=$BINARY" >>"$GITHUB_OUTPUT"
    exit 0
fi

case "$PLATFORM" in
    Linux-X64) target=x86_64-unknown-linux-gnu ;;
    Linux-ARM64) target=aarch64-unknown-linux-gnu ;;
    *) refuse "no release for $PLATFORM: use a Linux runner, or give a program with the input binary" ;;
esac
[[ "$VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || refuse "input version: three numbers are expected, as in 0.1.0"

own=https://github.com/$ACTION_REPOSITORY/releases/download
releases=${RELEASES:-$own}
archive=fixpoint-$VERSION-$target.tar.gz
folder=$(mktemp -d "$RUNNER_TEMP/fixpoint-program-XXXXXX")

# No header goes along: releases are public, and a token must not follow a redirect.
bring() {
    curl --fail --silent --show-error --location --proto '=https,file' --proto-redir '=https' \
        --retry 3 --max-time 300 --output "$folder/$1" "$releases/v$VERSION/$1" ||
        refuse "$1 of version $VERSION cannot be fetched"
}

bring "$archive"
if [ -z "$SHA256" ]; then
    bring SHA256SUMS
    SHA256=$(awk -v file="$archive" '$2 == file || $2 == "*" file { print $1 }' "$folder/SHA256SUMS")
fi
[[ "$SHA256" =~ ^[0-9a-fA-F]{64}$ ]] || refuse "there is no checksum of $archive"
echo "${SHA256,,}  $folder/$archive" | sha256sum --check --status ||
    refuse "$archive does not have the checksum $SHA256"

if [ "$releases" = "$own" ] && command -v gh >/dev/null && gh attestation --help >/dev/null 2>&1; then
    gh attestation verify "$folder/$archive" --repo "$ACTION_REPOSITORY" >/dev/null ||
        refuse "$archive has no valid proof that $ACTION_REPOSITORY built it"
fi

tar --extract --gzip --file "$folder/$archive" --directory "$folder" --no-same-owner fixpoint
chmod 755 "$folder/fixpoint"
echo "program=$folder/fixpoint" >>"$GITHUB_OUTPUT"
