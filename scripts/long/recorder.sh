#!/usr/bin/env bash
# Runs the suite, or the tests of one name, under a recorder and lists whom anything in it spoke to: each address once, with how
# often. Whatever is not this machine or a socket of it has to be explained by a test that speaks to the world on purpose
# (package managers through the way out, the attacks on it).
#
#   scripts/long/recorder.sh [NAME]          needs strace; takes about twice as long as the suite
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v strace >/dev/null || { echo "strace is not installed (apt-get install strace)" >&2; exit 1; }
cargo build --locked --tests
it=$(cargo test --locked --no-run --message-format=json 2>/dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    line = json.loads(line)
    if line.get("executable") and line.get("target", {}).get("name") == "it": print(line["executable"])' | tail -1)
record=$(mktemp)
trap 'rm -f "$record"' EXIT
status=0
strace -f -qq --seccomp-bpf -e signal=none -e trace=connect,sendto,sendmsg,sendmmsg -o "$record" \
    "$it" --test-threads 4 "$@" || status=$?
python3 - "$record" <<'END'
import collections, re, sys
seen = collections.Counter()
for line in open(sys.argv[1], errors="replace"):
    family = re.search(r"sa_family=(AF_\w+)", line)
    if not family or family[1] in ("AF_NETLINK", "AF_UNSPEC"):
        continue
    address = re.search(r'inet_addr\("([^"]+)"\)', line) or re.search(r'inet_pton\(AF_INET6, "([^"]+)"', line)
    port, path = re.search(r"htons\((\d+)\)", line), re.search(r'sun_path=@?"([^"]*)"', line)
    if address and (address[1].startswith("127.") or address[1] in ("::1", "0.0.0.0", "::")):
        seen["this machine"] += 1
    elif address:
        seen[f"{address[1]} port {port[1]}"] += 1
    else:
        seen[f"socket {path[1] if path else family[1]}"] += 1
for name, times in seen.most_common():
    print(f"{times:9} {name}")
END
exit "$status"
