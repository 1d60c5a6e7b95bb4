//! Seen from inside, by the means an attacker has: there is nothing to reach, nothing to find, nothing to
//! gain.

use super::*;
use std::collections::BTreeSet;

/// In files and processes of the machine while the tests look; written in two halves, so that the hunt does
/// not find its own words.
const CANARY: [&str; 2] = ["canary-", "7f3b9a51c2"];

/// A process and a file of the machine that hold the canary.
struct Planted {
    process: std::process::Child,
    _file: tempfile::NamedTempFile,
}

impl Planted {
    fn new() -> Self {
        let canary = CANARY.concat();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &canary).unwrap();
        let process = std::process::Command::new("sleep").arg("600").env("TOKEN", canary).spawn().unwrap();
        Self { process, _file: file }
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

const LOOK: &str = r#"
echo "interfaces $(sed 1,2d /proc/net/dev | cut -d: -f1 | xargs)"
echo "routes $(sed 1d /proc/net/route | wc -l)"
echo "resolvers $(grep ^nameserver /etc/resolv.conf | cut -d' ' -f2 | xargs)"
echo "user $(id -u):$(id -g):$(id -G)"
echo "capabilities $(grep ^Cap /proc/self/status | cut -f2 | sort -u | xargs)"
echo "gain $(grep NoNewPrivs /proc/self/status | cut -f2)"
echo "setuid $(find /usr/bin /usr/sbin -perm /6000 -type f 2>/dev/null | head -1 | xargs -r -I{} sh -c '{} -c id' 2>/dev/null | grep -c uid=0)"
echo "devices $(find /dev -type b 2>/dev/null | wc -l)"
echo "sockets $(find /run /var /tmp /home /work -type s 2>/dev/null | wc -l)"
writable=$(for d in / /etc /usr /var /opt/fixpoint /root /dev /sys /proc/sys /sys/fs/cgroup; do touch $d/x 2>/dev/null && echo $d; done)
echo "writable $writable"
echo "mounts $(awk '$4 ~ /^rw/ && $3 !~ /^(proc|devpts|mqueue|sysfs|cgroup.*|9p)$/ {print $2}' /proc/mounts | grep -v '^/proc/\|^/sys/\|^/dev\|^/etc/' | sort | xargs)"
"#;

const EXPECTED: &str = "\
interfaces lo
routes 0
resolvers 127.0.0.1
user 10001:10001:10001
capabilities 0000000000000000
gain 1
setuid 0
devices 0
sockets 0
writable 
mounts /home/agent /tmp /work
";

/// Every file that can be read, every environment, every command line, in the shapes a secret may take.
const HUNT: &str = r#"python3 - <<'END'
import base64, codecs, os, urllib.parse
canary = b"canary-" + b"7f3b9a51c2"
text = canary.decode()
shapes = [canary, canary[::-1], canary.hex().encode(), codecs.encode(text, "rot13").encode(), urllib.parse.quote(text, safe="").replace("-", "%2D").encode()]
shapes += [base64.b64encode(b"x" * n + canary)[4 if n else 0:-4] for n in range(3)]
places = ["/etc", "/work", "/tmp", "/home", "/opt", "/run", "/var", "/root", "/srv", "/mnt", "/media", "/dev/shm"]
files = [os.path.join(at, f) for place in places for at, _, fs in os.walk(place) for f in fs]
files += [f"/proc/{p}/{f}" for p in os.listdir("/proc") if p.isdigit() for f in ["environ", "cmdline", "mountinfo", "cgroup"]]
for name in files:
    try:
        if os.path.isfile(name) and any(shape in open(name, "rb").read() for shape in shapes): print(name)
    except OSError: pass
END"#;

async fn nothing_to_reach(sandbox: &dyn Sandbox, exact: bool) {
    let _planted = Planted::new();
    let origin = Origin::new();
    let commit = origin.commit(origin.tree(&[("a", 0o100_644, b"a\n")]));
    origin.seed(sandbox, commit, None).await.unwrap();

    let seen = sh(sandbox, LOOK).await;
    if exact {
        assert_eq!(seen.out, EXPECTED, "{}", seen.err);
    } else {
        // Another kernel shows other mounts and fewer tables; what matters is the same.
        for line in EXPECTED
            .lines()
            .filter(|l| !l.starts_with("mounts") && !l.starts_with("gain") && !l.starts_with("routes"))
        {
            assert!(seen.out.contains(line), "{line}:\n{}", seen.out);
        }
    }
    let names = sh(sandbox, "env | cut -d= -f1 | sort | xargs").await;
    let known = ["HOME", "HOSTNAME", "LANG", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "SHLVL", "USER", "_"];
    let unknown: BTreeSet<_> = names.out.split_whitespace().filter(|name| !known.contains(name)).collect();
    assert_eq!(unknown, BTreeSet::new());
    assert_eq!(sh(sandbox, HUNT).await.out, "");
    // The hunt finds what is there to be found.
    sh(sandbox, "printf '%s%s' canary- 7f3b9a51c2 | base64 > /tmp/planted").await;
    assert_eq!(sh(sandbox, HUNT).await.out, "/tmp/planted\n");

    let git = sh(
        sandbox,
        "cat .git/config; git config --list --show-origin | grep -ci 'url\\|header\\|credential'",
    )
    .await;
    assert!(git.out.ends_with("\n0\n") && !git.out.contains("remote"), "{}", git.out);
    let tried = sh(sandbox, CONNECT).await;
    assert_eq!((tried.out.as_str(), tried.code), ("nothing\n", 0), "{}", tried.err);
}

const CONNECT: &str = r#"python3 - <<'END'
import socket, itertools
reached = []
for host in ["1.1.1.1", "8.8.8.8", "169.254.169.254", "172.17.0.1", "10.0.0.1", "192.168.0.1", "2606:4700:4700::1111", "fe80::1"]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port, kind in itertools.product([22, 53, 80, 443, 2375], [socket.SOCK_STREAM, socket.SOCK_DGRAM]):
        s = socket.socket(family, kind); s.settimeout(0.2)
        try:
            s.connect((host, port)); s.send(b"x"); reached.append((host, port, kind))
        except OSError: pass
for name in ["example.com", "localhost.localdomain", "metadata.google.internal", "host.docker.internal"]:
    try: reached.append((name, socket.getaddrinfo(name, 80)))
    except OSError: pass
for protocol in [(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_PACKET, socket.SOCK_RAW, 3)]:
    try: socket.socket(*protocol); reached.append(protocol)
    except OSError: pass
for path in ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"]:
    try: socket.socket(socket.AF_UNIX).connect(path); reached.append(path)
    except OSError: pass
print(reached or "nothing")
END"#;

#[tokio::test]
async fn evil_t11_t15_nothing_is_to_be_reached_found_or_gained() {
    let Some(provider) = docker().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    nothing_to_reach(sandbox.as_ref(), true).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn evil_t11_t15_nothing_is_to_be_reached_found_or_gained_on_runsc() {
    let Some(provider) = runsc().await else { return };
    let sandbox = provider.start(&spec()).await.unwrap();
    nothing_to_reach(sandbox.as_ref(), false).await;
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_limits_asked_for_are_in_force() {
    let Some(provider) = docker().await else { return };
    let spec = Spec { cpus: 0.5, ..spec() };
    let sandbox = provider.start(&spec).await.unwrap();
    let read = r#"
first() { for f in "$@"; do [ -r "$f" ] && cat "$f" && return; done; }
echo "pids $(first /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max)"
echo "memory $(first /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max)"
echo "cpu $(first /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max | cut -d' ' -f1)"
echo "core $(ulimit -c)"
df --output=target,size -B1 /work /tmp /home/agent | sed 1d | xargs -n2 echo
"#;
    let disk = spec.disk;
    let memory = spec.memory + disk + (64 << 20);
    let expected = format!(
        "pids 128\nmemory {memory}\ncpu 50000\ncore 0\n/work {}\n/tmp {}\n/home/agent {}\n",
        disk / 2,
        disk / 4,
        disk / 4
    );
    assert_eq!(sh(sandbox.as_ref(), read).await.out, expected);
    sandbox.stop().await.unwrap();
}

#[tokio::test]
async fn the_check_proves_the_whole_way() {
    let Some(provider) = docker().await else { return };
    let said = provider.check().await.unwrap();
    assert!(said.contains("no network") && said.contains(IMAGE), "{said}");
}

#[tokio::test]
async fn the_check_proves_the_whole_way_on_runsc() {
    let Some(provider) = runsc().await else { return };
    let said = provider.check().await.unwrap();
    assert!(said.contains("runsc"), "{said}");
}

/// The look itself can fail: outside a sandbox it finds what it must not.
#[tokio::test]
async fn a_local_process_would_not_pass_for_a_sandbox() {
    let root = tempfile::tempdir().unwrap();
    let sandbox = local(&root).start(&spec()).await.unwrap();
    let found: wire::Findings =
        serde_json::from_str(&run(sandbox.as_ref(), Command::toolbox(["probe"])).await.out).unwrap();
    assert!(found.no_new_privileges == Some(false) && found.uid != 10001);
    assert_eq!(sandbox.describe(), "local processes, no boundary");
    // What it does not get all the same is this process's environment.
    let names = run(sandbox.as_ref(), Command::named("env", [""; 0])).await.out;
    let mut names: Vec<_> = names.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["FIXPOINT_SANDBOX", "HOME", "LANG", "PATH", "PYTHONDONTWRITEBYTECODE", "TMPDIR", "USER"]
    );
    sandbox.stop().await.unwrap();
}
