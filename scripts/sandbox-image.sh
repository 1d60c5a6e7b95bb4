#!/usr/bin/env bash
# Builds the default sandbox image, unless the engine holds one of the same recipe already.
#
#   scripts/sandbox-image.sh [NAME]        NAME: fixpoint-sandbox:latest
#
# With a registry in reach it builds docs/sandbox/Dockerfile. Without one it makes the root file system from this
# machine's own apt sources (mmdebstrap) and imports it. IMAGE_BY=dockerfile|mmdebstrap chooses.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-fixpoint-sandbox:latest}
base=debian:bookworm-slim

recipe=$(cat docs/sandbox/Dockerfile docs/sandbox/packages.txt "$0" | sha256sum | cut -c1-16)
label=io.fixpoint.recipe
have=$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "$name" 2>/dev/null || true)
if [ "$have" = "$recipe" ]; then
    echo "$name is up to date ($recipe)"
    exit 0
fi

by_dockerfile() {
    # The host's network: an engine without a bridge has no other.
    docker build --network host --label "$label=$recipe" --tag "$name" docs/sandbox
}

by_mmdebstrap() {
    command -v mmdebstrap >/dev/null || {
        echo "no registry holds $base for this engine, and mmdebstrap is not installed (apt-get install mmdebstrap)" >&2
        exit 1
    }
    local packages suite id
    packages=$(sed 's/#.*//' docs/sandbox/packages.txt | xargs | tr ' ' ',')
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    work=$(mktemp -d)
    trap 'umount "$work" 2>/dev/null; rm -rf "$work"' EXIT
    # Fifty thousand small files for a minute: in memory where there is enough of it.
    if [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((6 << 20)) ]; then
        mount -t tmpfs -o size=4g tmpfs "$work"
    fi
    chmod 755 "$work"
    # The sources that work for this machine work for the image; apt reads either of its two formats.
    cat /etc/apt/sources.list.d/debian*.sources >"$work/machine.sources" 2>/dev/null ||
        cat /etc/apt/sources.list >"$work/machine.sources"
    # Named only once it is whole: a pipe that breaks leaves half an image.
    id=$(TMPDIR=$work mmdebstrap --quiet --variant=minbase --include="$packages" \
        --dpkgopt=force-unsafe-io \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --customize-hook='echo "agent:x:10001:10001::/home/agent:/bin/bash" >>"$1/etc/passwd"' \
        --customize-hook='echo "agent:x:10001:" >>"$1/etc/group"' \
        "$suite" - "$work/machine.sources" |
        docker import --change "LABEL $label=$recipe" --change 'ENV LANG=C.UTF-8' \
            --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
            --change 'CMD ["/bin/bash"]' -)
    docker tag "$id" "$name"
}

case ${IMAGE_BY:-} in
dockerfile) by_dockerfile ;;
mmdebstrap) by_mmdebstrap ;;
'')
    if docker image inspect "$base" >/dev/null 2>&1 || timeout 60 docker pull --quiet "$base" >/dev/null 2>&1; then
        by_dockerfile
    else
        by_mmdebstrap
    fi
    ;;
*)
    echo "IMAGE_BY is dockerfile or mmdebstrap, not $IMAGE_BY" >&2
    exit 2
    ;;
esac
echo "$name is built ($recipe)"
