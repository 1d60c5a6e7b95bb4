#!/usr/bin/env bash
# Builds the image that the tests of services use: PostgreSQL and Redis of this machine's own apt sources, no registry needed.
# Not an image for anybody's use: a repository names an official one.
#
#   scripts/services-image.sh [NAME]        as root; NAME: fixpoint-services-test:latest
set -euo pipefail
name=${1:-fixpoint-services-test:latest}

recipe=$(sha256sum <"$0" | cut -c1-16)
label=io.fixpoint.recipe
have=$(docker image inspect --format "{{index .Config.Labels \"$label\"}}" "$name" 2>/dev/null || true)
if [ "$have" = "$recipe" ]; then
    echo "$name is up to date ($recipe)"
    exit 0
fi
command -v mmdebstrap >/dev/null || {
    echo "mmdebstrap is not installed (apt-get install mmdebstrap)" >&2
    exit 1
}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
work=$(mktemp -d)
trap 'umount "$work" 2>/dev/null; rm -rf "$work"' EXIT
if [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((6 << 20)) ]; then
    mount -t tmpfs -o size=3g tmpfs "$work"
fi
chmod 755 "$work"
cat /etc/apt/sources.list.d/debian*.sources >"$work/machine.sources" 2>/dev/null ||
    cat /etc/apt/sources.list >"$work/machine.sources"
# The number that the official images give the user; Debian's own would depend on what else is installed.
id=$(TMPDIR=$work mmdebstrap --quiet --variant=minbase --include=postgresql,redis-server \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --essential-hook='echo "postgres:x:999:999::/var/lib/postgresql:/bin/bash" >>"$1/etc/passwd"' \
    --essential-hook='echo "postgres:x:999:" >>"$1/etc/group"' \
    --customize-hook='for p in "$1"/usr/lib/postgresql/*/bin/*; do ln -sf "${p#"$1"}" "$1/usr/local/bin/"; done' \
    "$suite" - "$work/machine.sources" |
    docker import --change "LABEL $label=$recipe" --change 'VOLUME /var/lib/postgresql/data' \
        --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
        --change 'CMD ["/bin/bash"]' -)
docker tag "$id" "$name"
echo "$name is built ($recipe)"
