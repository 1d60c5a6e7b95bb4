#!/usr/bin/env bash
# Builds the image that the tests of the engine claude-code use: the sandbox image with Claude Code in it, from the npm
# registry that this machine is set up with. Not an image for anybody's use: docs/engines.md says how one's own is made.
#
#   scripts/claude-image.sh [NAME]        NAME: fixpoint-claude-test:latest; needs fixpoint-sandbox:latest, npm, docker
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-fixpoint-claude-test:latest}
# What the engine was tried with; another version is tried by changing this line.
version=2.1.332
case $(uname -m) in
x86_64) system=linux-x64 ;;
aarch64) system=linux-arm64 ;;
*)
    echo "Claude Code is not to be had for $(uname -m)" >&2
    exit 1
    ;;
esac

base=$(docker image inspect --format '{{.Id}}' fixpoint-sandbox:latest)
recipe=$(printf '%s' "$base" | cat - "$0" | sha256sum | cut -c1-16)
label=io.fixpoint.recipe
have=$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "$name" 2>/dev/null || true)
if [ "$have" = "$recipe" ]; then
    echo "$name is up to date ($recipe)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# One program without a dependency: nothing of node is needed to run it.
(cd "$work" && npm pack --silent "@anthropic-ai/claude-code-$system@$version" >/dev/null)
mkdir "$work/context"
tar -xzf "$work"/*.tgz -C "$work/context" --strip-components=1 package/claude
printf 'FROM fixpoint-sandbox:latest\nCOPY claude /usr/local/bin/claude\n' >"$work/context/Dockerfile"
docker build --quiet --network none --label "$label=$recipe" --tag "$name" "$work/context" >/dev/null
echo "$name is built ($recipe): $(docker run --rm --network none --entrypoint claude "$name" --version)"
