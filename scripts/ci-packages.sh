#!/usr/bin/env bash
# Installs what the tests need and the machine lacks (Debian, as root). Elsewhere it only names what is missing.
set -euo pipefail

declare -A package=(
    [dockerd]=docker.io
    [mmdebstrap]=mmdebstrap
    [git]=git
    [cc]=gcc
    [make]=make
    [pkg-config]=pkg-config
    [python3]=python3
    [docker-compose]=docker-compose
    [npm]=npm
    [strace]=strace
    [chromium]=chromium
    [chromedriver]=chromium-driver
)

missing=()
for program in "${!package[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "$program" >/dev/null || missing+=("${package[$program]}")
done
compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || missing+=(postgresql)
/usr/bin/python3 -c 'import pytest, pytest_timeout' 2>/dev/null || missing+=(python3-pytest python3-pytest-timeout)

python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)

[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "missing: ${missing[*]} (install them, then run this again)" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
