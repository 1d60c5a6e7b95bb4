//! `toolbox probe`: what a process in the sandbox can see and do, found out from inside before any untrusted
//! code has run there.

use super::wire::Findings;
use std::{
    fs,
    net::{SocketAddr, TcpStream},
    os::unix::fs::FileTypeExt as _,
    path::Path,
    time::Duration,
};

/// Where nothing may answer: two public resolvers, the address where clouds hand out credentials, and the
/// usual gateway of a container network.
const OUTSIDE: [&str; 4] = ["1.1.1.1:443", "8.8.8.8:53", "169.254.169.254:80", "172.17.0.1:22"];

/// Where container engines listen.
const SOCKETS: [&str; 5] = [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
];

/// Files by which whoever writes them leaves a container. Source: the paths that runc masks or makes read-only.
const WRITABLE: [&str; 5] = [
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sysrq-trigger",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/release_agent",
];

/// Without a network the kernel refuses at once; whoever lets packets vanish is caught by the interfaces.
const PATIENCE: Duration = Duration::from_millis(500);

/// Looks around.
pub fn look() -> Findings {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field =
        |name: &str| status.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':').map(str::trim));
    let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].into_iter().filter_map(field);
    Findings {
        interfaces: interfaces(),
        reached: OUTSIDE.into_iter().filter(|address| reached(address)).map(str::to_owned).collect(),
        uid: rustix::process::getuid().as_raw(),
        capabilities: sets.max().unwrap_or("unknown").to_owned(),
        no_new_privileges: field("NoNewPrivs").map(|value| value == "1"),
        read_only_root: fs::write("/fixpoint-probe", "").is_err()
            && fs::write("/usr/fixpoint-probe", "").is_err(),
        seccomp: field("Seccomp").and_then(|value| value.parse().ok()),
        in_reach: in_reach(),
    }
}

/// The engine's sockets under their usual names, disks as devices, control groups and switches of the kernel that take
/// something.
fn in_reach() -> Vec<String> {
    let sockets = SOCKETS.iter().filter(|path| Path::new(path).exists()).map(|path| (*path).to_owned());
    let devices = fs::read_dir("/dev").into_iter().flatten().flatten();
    let disks = devices.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_block_device()));
    let disks = disks.map(|entry| entry.path().display().to_string());
    let writable = WRITABLE.iter().filter(|path| fs::OpenOptions::new().write(true).open(path).is_ok());
    let group = "/sys/fs/cgroup/fixpoint-probe";
    let groups = fs::create_dir(group).is_ok().then(|| {
        // It was only tried.
        drop(fs::remove_dir(group));
        "/sys/fs/cgroup".to_owned()
    });
    sockets.chain(disks).chain(writable.map(|path| (*path).to_owned())).chain(groups).collect()
}

fn interfaces() -> Vec<String> {
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    table.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect()
}

fn reached(address: &str) -> bool {
    let Ok(address) = address.parse::<SocketAddr>() else { return true };
    TcpStream::connect_timeout(&address, PATIENCE).is_ok()
}
