//! The container as one explicit value: what it does not say, the sandbox does not have.

use super::compare;
use crate::{
    domain::repo_config::SANDBOX_USER,
    sandbox::{ENVIRONMENT, SandboxError, Spec},
    toolbox::wire::egress,
};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum,
    HostConfigLogConfig, Mount, MountTmpfsOptions, MountType, ResourcesUlimits,
};
use std::collections::HashMap;

/// The user in a sandbox.
pub(super) const UID: u32 = SANDBOX_USER;

/// Where the repository is checked out. A level below its mount, so that the toolbox can keep its own beside
/// it.
pub(super) const WORKSPACE: &str = "/work/repo";

/// Where the toolbox keeps its own: beside the workspace.
const KEEP: &str = "/work/.fixpoint";

/// Where the program is mounted.
pub(super) const PROGRAM_FOLDER: &str = "/opt/fixpoint";

/// Its path.
pub(super) const PROGRAM: &str = "/opt/fixpoint/fixpoint";

const HOME: &str = "/home/agent";

/// Labels, set at creation: what a sweep goes by.
pub(super) const SESSION: &str = "io.fixpoint.session";
/// The same.
pub(super) const EPOCH: &str = "io.fixpoint.epoch";
/// Whose containers they are, where several servers share an engine.
pub(super) const INSTANCE: &str = "io.fixpoint.instance";

/// Shared memory: what Docker gives by default and browsers and databases expect at least.
pub(super) const SHARED_MEMORY: u64 = 64 << 20;

/// Files on each of the three file systems in memory: room for large dependency folders, an end for a bomb of
/// empty files.
pub(super) const INODES: u32 = 1_000_000;

/// Threads that `runsc` needs for the kernel it brings along; they count like the processes it runs.
const OWN_KERNEL: u32 = 512;

/// The name of a session's container in an epoch.
pub(super) fn name(spec: &Spec) -> String {
    format!("fx-{}-{}", spec.session, spec.epoch)
}

/// What is asked of the engine.
pub(super) struct Asked<'a> {
    pub(super) spec: &'a Spec,
    pub(super) image: &'a str,
    /// Folders that the image wants on disks of their own.
    pub(super) image_volumes: Vec<String>,
    pub(super) volume: &'a str,
    pub(super) runtime: Option<&'a str>,
    pub(super) instance: &'a str,
    /// The engine is Podman, which writes a file system's owner differently.
    pub(super) podman: bool,
}

impl Asked<'_> {
    /// The request.
    pub(super) fn body(&self) -> ContainerCreateBody {
        let seconds = self.spec.wall_clock.as_secs().max(1).to_string();
        let init = ["toolbox", "init", "--workspace", WORKSPACE, "--seconds", &seconds];
        ContainerCreateBody {
            image: Some(self.image.to_owned()),
            hostname: Some("sandbox".into()),
            user: Some(format!("{UID}:{UID}")),
            entrypoint: Some(vec![PROGRAM.into()]),
            cmd: Some(init.map(str::to_owned).to_vec()),
            working_dir: Some("/".into()),
            env: Some(self.environment()),
            labels: Some(self.labels()),
            // The host holds standard input: when it lets go, init ends.
            open_stdin: Some(true),
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            // An image's own health check would run beside the agent, uncounted.
            healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
            host_config: Some(self.host()),
            ..Default::default()
        }
    }

    fn environment(&self) -> Vec<String> {
        let usual =
            [("HOME", HOME)].into_iter().chain(ENVIRONMENT).map(|(name, value)| format!("{name}={value}"));
        let way_out = egress::environment(KEEP).into_iter().filter(|_| self.spec.way_out);
        usual.chain(way_out.map(|(name, value)| format!("{name}={value}"))).collect()
    }

    pub(super) fn labels(&self) -> HashMap<String, String> {
        let spec = self.spec;
        let labels = [
            (SESSION, spec.session.to_string()),
            (EPOCH, spec.epoch.to_string()),
            (INSTANCE, self.instance.to_owned()),
        ];
        labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn host(&self) -> HostConfig {
        let spec = self.spec;
        HostConfig {
            network_mode: Some("none".into()),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges:true".into()]),
            privileged: Some(false),
            readonly_rootfs: Some(true),
            runtime: self.runtime.map(str::to_owned),
            ipc_mode: Some("private".into()),
            // Nothing is seen of where the machine keeps its control groups, also where an engine's default is the machine's own.
            cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
            pids_limit: Some(i64::from(spec.pids + self.own_kernel())),
            nano_cpus: Some(nano(spec.cpus)),
            memory: Some(self.memory()),
            // The same as memory: none of it may be swapped out.
            memory_swap: Some(self.memory()),
            shm_size: Some(signed(SHARED_MEMORY)),
            ulimits: Some(vec![limit("core", 0)]),
            tmpfs: Some(self.tmpfs()),
            mounts: Some(self.mounts()),
            // Nobody answers there; the engine would otherwise copy the machine's own resolvers in.
            dns: Some(vec!["127.0.0.1".into()]),
            dns_search: Some(vec![".".into()]),
            // Nothing that runs in here reaches the machine's disk by way of a log.
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
            auto_remove: Some(true),
            init: Some(false),
            ..Default::default()
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        let program = Mount {
            typ: Some(MountType::VOLUME),
            source: Some(self.volume.to_owned()),
            target: Some(PROGRAM_FOLDER.into()),
            read_only: Some(true),
            ..Default::default()
        };
        // In place of a disk without a limit: a folder that nobody can write to.
        let closed = self.image_volumes.iter().map(|target| Mount {
            typ: Some(MountType::TMPFS),
            target: Some(target.clone()),
            tmpfs_options: Some(MountTmpfsOptions {
                size_bytes: Some(4096),
                mode: Some(0o555),
                options: None,
            }),
            ..Default::default()
        });
        std::iter::once(program).chain(closed).collect()
    }

    pub(super) fn own_kernel(&self) -> u32 {
        if self.runtime.is_some_and(|name| name.contains("runsc")) { OWN_KERNEL } else { 0 }
    }

    /// Files in memory count against the memory limit: the limit is both together, so that a full disk does
    /// not starve the processes.
    fn memory(&self) -> i64 {
        signed(self.spec.memory.saturating_add(self.spec.disk).saturating_add(SHARED_MEMORY))
    }

    /// The options of a file system in memory. Podman gives it to the container's user by `U` and knows no limit of files: there
    /// the limit of memory counts them.
    pub(super) fn in_memory(&self, user: u32, mode: &str, size: u64, files: u32) -> String {
        let owner = match self.podman {
            true => "U".to_owned(),
            false => format!("uid={user},gid={user},nr_inodes={files}"),
        };
        format!("rw,exec,nosuid,nodev,{owner},mode={mode},size={size}")
    }

    /// Half for the repository, a quarter each for temporary files and home.
    fn tmpfs(&self) -> HashMap<String, String> {
        let disk = self.spec.disk;
        let mount =
            |at: &str, size: u64, mode: &str| (at.to_owned(), self.in_memory(UID, mode, size, INODES));
        [mount("/work", disk / 2, "755"), mount("/tmp", disk / 4, "1777"), mount(HOME, disk / 4, "755")]
            .into()
    }

    /// Whether the engine made what was asked for.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(super) fn compare(&self, made: &ContainerInspectResponse) -> Result<(), SandboxError> {
        compare::holds(&self.body(), made)?;
        let Some(host) = made.host_config.as_ref() else { return Ok(()) };
        // Podman says so of every container, whatever was asked for.
        let joined = host.ipc_mode.as_deref() == Some("shareable") && !self.podman;
        compare::must(!joined, "every namespace its own")?;
        compare::must(self.runtime.is_none() || host.runtime.as_deref() == self.runtime, "the runtime")?;
        compare::must(self.only_our_mounts(made) && self.only_our_binds(host), "no other mounts")
    }

    /// No folder of the machine, by whichever of the three ways it can be asked for.
    fn only_our_binds(&self, made: &HostConfig) -> bool {
        // Podman tells a volume so, with more words: `NAME:/PATH:ro,rprivate,nosuid,nodev,rbind`.
        let ours = |bind: &String| {
            let rest = bind.strip_prefix(self.volume).and_then(|rest| rest.strip_prefix(':'));
            let words = rest.and_then(|rest| rest.rsplit(':').next()).unwrap_or_default();
            words.split(',').any(|word| word == "ro")
        };
        made.volumes_from.iter().flatten().next().is_none() && made.binds.iter().flatten().all(ours)
    }

    fn only_our_mounts(&self, made: &ContainerInspectResponse) -> bool {
        made.mounts.iter().flatten().all(|mount| match mount.typ.as_deref() {
            Some("tmpfs") => true,
            _ => mount.name.as_deref() == Some(self.volume) && mount.rw == Some(false),
        })
    }
}

pub(super) fn limit(name: &str, most: i64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.into()), soft: Some(most), hard: Some(most) }
}

pub(super) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[allow(clippy::cast_possible_truncation)] // a number of cores times 10⁹ is far below 2⁶³
pub(super) fn nano(cpus: f64) -> i64 {
    (cpus * 1e9) as i64
}

#[cfg(test)]
mod tests;
