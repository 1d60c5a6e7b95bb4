#!/usr/bin/env bash
# Starts what the tests need and this machine does not run: a container engine. Does nothing where one answers.
#
#   scripts/test-services.sh         as root, on a machine with dockerd
#
# The engine has a data root of its own and neither bridge nor packet filter: sandboxes have no network anyway. It stays
# until it is ended: kill "$(cat "$DATA/dockerd.pid")".
set -euo pipefail
DATA=${FIXPOINT_DOCKER_DATA:-/var/lib/fixpoint-docker}
SOCKET=/var/run/docker.sock

answers() { docker version --format '{{.Server.Version}}' 2>/dev/null; }

if version=$(answers); then
    echo "container engine: $version"
    exit 0
fi
command -v dockerd >/dev/null || {
    echo "no container engine answers, and dockerd is not installed (apt-get install docker.io)" >&2
    exit 1
}

mkdir -p "$DATA"
# A second kernel for sandboxes, where it is installed. It brings its own loopback; of the host's network it gets nothing.
if runsc=$(command -v runsc); then
    cat >"$DATA/daemon.json" <<JSON
{ "runtimes": { "runsc": { "path": "$runsc", "runtimeArgs": ["--network=none"] } } }
JSON
else
    echo '{}' >"$DATA/daemon.json"
fi
rm -f "$DATA/dockerd.pid"
setsid nohup dockerd --config-file "$DATA/daemon.json" --data-root "$DATA" --pidfile "$DATA/dockerd.pid" \
    --host "unix://$SOCKET" --bridge=none --iptables=false --ip6tables=false \
    >"$DATA/dockerd.log" 2>&1 </dev/null &

for _ in $(seq 100); do
    if version=$(answers); then
        echo "container engine: $version (started)"
        exit 0
    fi
    sleep 0.3
done
echo "the container engine did not start; the end of $DATA/dockerd.log:" >&2
tail -20 "$DATA/dockerd.log" >&2
exit 1
