//! A service's container as one explicit value. An agent may make a database run commands, so it is closed like the sandbox
//! itself: no network of its own, no capability, nothing to gain, a read-only root, its files in memory.

use super::{
    compare,
    container::{self, Asked, INODES, SHARED_MEMORY},
};
use crate::{domain::repo_config::Service, sandbox::SandboxError};
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum,
    HostConfigLogConfig,
};
use std::collections::{BTreeSet, HashMap};

/// Set on a service besides the sandbox's labels; its value is the service's name.
pub(super) const SERVICE: &str = "io.fixpoint.service";

/// Folders that nearly every service writes to: temporary files, sockets and the files that name its process.
const USUAL: [&str; 2] = ["/tmp", "/run"];

/// Its container's name.
pub(super) fn name(asked: &Asked<'_>, service: &Service) -> String {
    format!("{}-{}", container::name(asked.spec), service.name)
}

/// What is asked of the engine.
pub(super) struct Beside<'a> {
    pub(super) service: &'a Service,
    /// What its image declares as volumes.
    pub(super) image_volumes: Vec<String>,
    /// The sandbox it runs beside, as it was asked for, and its container's id.
    pub(super) asked: &'a Asked<'a>,
    pub(super) sandbox: &'a str,
}

impl Beside<'_> {
    /// The request.
    pub(super) fn body(&self) -> ContainerCreateBody {
        let Service { image, command, environment, user, .. } = self.service;
        let mut labels = self.asked.labels();
        labels.insert(SERVICE.to_owned(), self.service.name.clone());
        ContainerCreateBody {
            image: Some(image.clone()),
            user: Some(format!("{user}:{user}")),
            cmd: (!command.is_empty()).then(|| command.clone()),
            env: Some(environment.iter().map(|(key, value)| format!("{key}={value}")).collect()),
            labels: Some(labels),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            // Ours is asked in its place, and no more once the agent works.
            healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
            host_config: Some(self.host()),
            ..Default::default()
        }
    }

    fn host(&self) -> HostConfig {
        let spec = self.asked.spec;
        let memory = container::signed(spec.service_memory);
        let shared = Some(format!("container:{}", self.sandbox));
        HostConfig {
            // They meet on the sandbox's loopback, and it stays the only interface.
            network_mode: shared.clone(),
            // The kernel ends all of a process namespace with its first process, which is the sandbox's: whatever ends the
            // sandbox ends its services, also where this program is no longer there to do it.
            pid_mode: shared,
            ipc_mode: Some("private".into()),
            cgroupns_mode: Some(HostConfigCgroupnsModeEnum::PRIVATE),
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges:true".into()]),
            privileged: Some(false),
            readonly_rootfs: Some(true),
            runtime: self.asked.runtime.map(str::to_owned),
            pids_limit: Some(i64::from(spec.pids)),
            nano_cpus: Some(container::nano(spec.cpus)),
            memory: Some(memory),
            memory_swap: Some(memory),
            shm_size: Some(container::signed(SHARED_MEMORY)),
            ulimits: Some(vec![container::limit("core", 0)]),
            tmpfs: Some(self.tmpfs()),
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
            auto_remove: Some(true),
            init: Some(false),
            ..Default::default()
        }
    }

    /// Each of them may fill half of the memory, which counts them all.
    fn tmpfs(&self) -> HashMap<String, String> {
        let (user, size) = (self.service.user, self.asked.spec.service_memory / 2);
        let mount = |path: &str| {
            // What a database keeps must be its own alone; the usual folders are everybody's.
            let mode = if USUAL.contains(&path) { "1777" } else { "700" };
            (path.to_owned(), self.asked.in_memory(user, mode, size, INODES / 10))
        };
        self.folders().into_iter().map(mount).collect()
    }

    fn folders(&self) -> BTreeSet<&str> {
        let own = self.image_volumes.iter().chain(&self.service.writable).map(String::as_str);
        USUAL.into_iter().chain(own.map(|path| path.trim_end_matches('/'))).collect()
    }

    /// Whether the engine made what was asked for.
    ///
    /// # Errors
    /// The first thing that is not as it must be.
    pub(super) fn compare(&self, made: &ContainerInspectResponse) -> Result<(), SandboxError> {
        compare::holds(&self.body(), made)?;
        let folders = self.folders();
        // Docker lists a volume that the image declares also where memory is mounted in its place.
        let ours = |path: Option<&str>| path.is_some_and(|path| folders.contains(path.trim_end_matches('/')));
        let mut mounts = made.mounts.iter().flatten();
        let known = mounts.all(|mount| match mount.typ.as_deref() {
            Some("tmpfs") => true,
            Some("volume") => ours(mount.destination.as_deref()),
            _ => false,
        });
        compare::must(known, "no other mounts")
    }
}

#[cfg(test)]
mod tests;
