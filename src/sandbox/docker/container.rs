//! The container as one explicit value: what it does not say, the sandbox does not have. And the comparison
//! of what was asked with what the engine says it made.

use crate::{
    sandbox::{ENVIRONMENT, SandboxError, Spec},
    toolbox::wire::egress,
};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HealthConfig, HostConfig, HostConfigLogConfig, Mount,
    MountTmpfsOptions, MountType, ResourcesUlimits,
};
use std::collections::HashMap;

/// The user in a sandbox: of no image and no machine, so that nothing in either belongs to it.
pub(super) const UID: u32 = 10001;

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
const SHARED_MEMORY: u64 = 64 << 20;

/// Files on each of the three file systems in memory: room for large dependency folders, an end for a bomb of
/// empty files.
const INODES: u32 = 1_000_000;

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

    fn labels(&self) -> HashMap<String, String> {
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

    fn own_kernel(&self) -> u32 {
        if self.runtime.is_some_and(|name| name.contains("runsc")) { OWN_KERNEL } else { 0 }
    }

    /// Files in memory count against the memory limit: the limit is both together, so that a full disk does
    /// not starve the processes.
    fn memory(&self) -> i64 {
        signed(self.spec.memory.saturating_add(self.spec.disk).saturating_add(SHARED_MEMORY))
    }

    /// Half for the repository, a quarter each for temporary files and home.
    fn tmpfs(&self) -> HashMap<String, String> {
        let disk = self.spec.disk;
        let mount = |at: &str, size: u64, mode: &str| {
            let options = format!(
                "rw,exec,nosuid,nodev,uid={UID},gid={UID},mode={mode},size={size},nr_inodes={INODES}"
            );
            (at.to_owned(), options)
        };
        [mount("/work", disk / 2, "755"), mount("/tmp", disk / 4, "1777"), mount(HOME, disk / 4, "755")]
            .into()
    }

    /// Whether the engine made what was asked for: an old one, or one without the kernel's help, leaves
    /// limits out and only warns.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(super) fn compare(&self, made: &ContainerInspectResponse) -> Result<(), SandboxError> {
        let (asked, Some(made_host)) = (self.host(), made.host_config.as_ref()) else {
            return Err(refused("nothing is known of the container"));
        };
        let dropped = made_host.cap_drop.as_ref().is_some_and(|all| !all.is_empty());
        let added = made_host.cap_add.as_ref().is_some_and(|some| !some.is_empty());
        let options = made_host.security_opt.iter().flatten();
        let no_new = |option: &String| option.starts_with("no-new-privileges") && !option.ends_with("false");
        let namespaces =
            [&made_host.pid_mode, &made_host.ipc_mode, &made_host.uts_mode, &made_host.userns_mode];
        let rules = [
            (made_host.network_mode == asked.network_mode, "network none"),
            (dropped && !added, "no capabilities"),
            (options.clone().any(no_new), "no new privileges"),
            (made_host.privileged != Some(true), "not privileged"),
            (made_host.devices.iter().flatten().next().is_none(), "no devices"),
            (!options.clone().any(|option| option.ends_with("unconfined")), "confined system calls"),
            (namespaces.into_iter().flatten().all(|mode| mode != "host"), "every namespace its own"),
            (made_host.readonly_rootfs == Some(true), "a read-only root"),
            (made_host.pids_limit == asked.pids_limit, "the limit of processes"),
            (made_host.memory == asked.memory, "the limit of memory"),
            (made_host.nano_cpus == asked.nano_cpus, "the limit of processor time"),
            (
                made.config.as_ref().and_then(|c| c.user.as_deref()) == self.body().user.as_deref(),
                "its own user",
            ),
            (self.only_our_mounts(made), "no other mounts"),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, rule)) => Err(refused(rule)),
            None => Ok(()),
        }
    }

    fn only_our_mounts(&self, made: &ContainerInspectResponse) -> bool {
        made.mounts.iter().flatten().all(|mount| match mount.typ.as_deref() {
            Some("tmpfs") => true,
            _ => mount.name.as_deref() == Some(self.volume) && mount.rw == Some(false),
        })
    }
}

fn refused(rule: &str) -> SandboxError {
    SandboxError::Engine(format!("it does not give what a sandbox must have: {rule}"))
}

fn limit(name: &str, most: i64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.into()), soft: Some(most), hard: Some(most) }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[allow(clippy::cast_possible_truncation)] // a number of cores times 10⁹ is far below 2⁶³
fn nano(cpus: f64) -> i64 {
    (cpus * 1e9) as i64
}

#[cfg(test)]
mod tests;
