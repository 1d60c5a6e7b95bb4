#!/usr/bin/env bash
# Builds the server's image and plays one session with it: the server in a container that has the engine's socket, its
# sandboxes beside it on the same engine, the emulator and the scripted model on the host's loopback.
#
#   scripts/image-test.sh [IMAGE]    IMAGE: one that is built already; needs a container engine, docker-compose, curl, python3, and target/debug/fixpoint
#
# Where no registry can be reached, the base images are made of what this machine has.
set -euo pipefail
cd "$(dirname "$0")/.."
fixpoint=$PWD/target/debug/fixpoint
work=$(mktemp -d)
image=${1:-fixpoint-image-test:latest}
emulator= ok= started=
compose() { docker-compose --project-name fixpoint-image-test --file compose.yaml "$@"; }
finish() {
    if [ "$started" ]; then
        [ "$ok" ] || compose logs --tail=60 || true
        compose down --volumes --timeout 5 >/dev/null 2>&1 || true
    fi
    [ -z "$emulator" ] || kill "$emulator" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

there() { docker image inspect "$1" >/dev/null 2>&1 || docker pull --quiet "$1" >/dev/null 2>&1; }

# The machine's own certificates: a company's proxy may stand between here and the package registry.
certificates() { cp /etc/ssl/certs/ca-certificates.crt "$1/certificates.crt"; }

build_base() {
    there rust:1.95-bookworm && return
    echo "no registry gives rust:1.95-bookworm: made from the sandbox image and this machine's toolchain"
    local context=$work/rust toolchain
    mkdir "$context"
    toolchain=$(rustc --print sysroot)
    cp -al "$toolchain" "$context/toolchain" 2>/dev/null || cp -a "$toolchain" "$context/toolchain"
    rm -rf "$context/toolchain/share/doc" "$context/toolchain/lib/rustlib/src"
    certificates "$context"
    cat >"$context/Dockerfile" <<'DOCKERFILE'
FROM fixpoint-sandbox:latest
USER root
COPY toolchain /usr/local
COPY certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV CARGO_HOME=/usr/local/cargo CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt
DOCKERFILE
    docker build --quiet --network host --tag rust:1.95-bookworm "$context" >/dev/null
}

run_base() {
    there debian:bookworm-slim && return
    echo "no registry gives debian:bookworm-slim: the sandbox image stands in"
    local context=$work/debian
    mkdir "$context"
    certificates "$context"
    printf 'FROM fixpoint-sandbox:latest\nUSER root\nCOPY certificates.crt /etc/ssl/certs/ca-certificates.crt\n' \
        >"$context/Dockerfile"
    docker build --quiet --network host --tag debian:bookworm-slim "$context" >/dev/null
}

build() {
    build_base
    run_base
    docker build --network host --build-arg PROFILE=dev --tag "$image" . >"$work/build.log" 2>&1 || {
    tail -40 "$work/build.log" >&2
    exit 1
    }
}
[ $# -gt 0 ] || build
echo "the image $image: $(docker image inspect --format '{{.Size}}' "$image") bytes"

"$fixpoint" emulator --listen 127.0.0.1:0 >"$work/emulator.log" &
emulator=$!
for _ in $(seq 100); do grep -q listening "$work/emulator.log" && break || sleep 0.1; done
url=$(sed -n 's/^listening on //p' "$work/emulator.log")

config=$work/config
mkdir "$config"
scripts/image_session.py prepare "$url" "$config"
chmod -R a+rX "$work"
export FIXPOINT_IMAGE=$image FIXPOINT_CONFIG_DIR=$config
DOCKER_GROUP=$(stat -c %g /var/run/docker.sock)
export DOCKER_GROUP
started=yes
compose up --detach --no-build >"$work/up.log" 2>&1
scripts/image_session.py play "$url"
ok=yes
echo "a session in the image: green, one branch, one pull request"
