//! What was asked of an engine against what it says it made: an old one, or one without the kernel's help, leaves limits out and
//! only warns.

use crate::sandbox::SandboxError;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HostConfig, HostConfigCgroupnsModeEnum, SystemInfo,
};

/// Whether a container is what was asked for, but for its mounts.
///
/// # Errors
/// The first thing that is not as it must be.
pub(super) fn holds(
    asked: &ContainerCreateBody,
    made: &ContainerInspectResponse,
) -> Result<(), SandboxError> {
    let (Some(wanted), Some(host)) = (asked.host_config.as_ref(), made.host_config.as_ref()) else {
        return Err(refused("nothing is known of the container"));
    };
    let user = made.config.as_ref().and_then(|config| config.user.as_ref());
    must(user == asked.user.as_ref(), "its own user")?;
    // Before the privileges: beside a namespace of the machine an engine leaves labels away by itself.
    namespaces(wanted, host)?;
    privileges(host)?;
    limits(wanted, host)
}

fn privileges(made: &HostConfig) -> Result<(), SandboxError> {
    let dropped = made.cap_drop.as_ref().is_some_and(|all| !all.is_empty());
    let options = made.security_opt.as_deref().unwrap_or_default();
    let no_new = |option: &String| option.starts_with("no-new-privileges") && !option.ends_with("false");
    let unlabelled = |option: &String| option == "label=disable" || option == "label:disable";
    // An empty list shows all of /proc; none at all is an engine that does not tell.
    let shown = [&made.masked_paths, &made.readonly_paths].into_iter().flatten().any(Vec::is_empty);
    let switches = made.sysctls.as_ref().is_some_and(|set| !set.is_empty());
    must(dropped && none(made.cap_add.as_ref()), "no capabilities")?;
    must(options.iter().any(no_new), "no new privileges")?;
    must(made.privileged != Some(true), "not privileged")?;
    must(none(made.group_add.as_ref()), "no other groups")?;
    must(none(made.devices.as_ref()) && none(made.device_requests.as_ref()), "no devices")?;
    must(none(made.device_cgroup_rules.as_ref()), "no rules for devices")?;
    must(!options.iter().any(|option| option.ends_with("unconfined")), "confined system calls")?;
    must(!options.iter().any(unlabelled), "its label")?;
    must(!shown && !switches, "the machine's own settings hidden")?;
    must(made.readonly_rootfs == Some(true), "a read-only root")
}

fn namespaces(asked: &HostConfig, made: &HostConfig) -> Result<(), SandboxError> {
    must(made.network_mode == asked.network_mode, "no network but what was asked for")?;
    let shares = |mode: &&String| *mode == "host" || mode.starts_with("container:");
    let namespaces = [
        (&asked.pid_mode, &made.pid_mode),
        (&asked.ipc_mode, &made.ipc_mode),
        (&asked.uts_mode, &made.uts_mode),
        (&asked.userns_mode, &made.userns_mode),
    ];
    let own = namespaces
        .into_iter()
        .all(|(asked, made)| made.iter().all(|m| !shares(&m) || Some(m) == asked.as_ref()));
    let groups = made.cgroupns_mode == Some(HostConfigCgroupnsModeEnum::HOST);
    must(own && !groups, "every namespace its own")
}

fn limits(asked: &HostConfig, made: &HostConfig) -> Result<(), SandboxError> {
    must(made.pids_limit == asked.pids_limit, "the limit of processes")?;
    must(made.memory == asked.memory, "the limit of memory")?;
    must(made.oom_kill_disable != Some(true), "an end for whoever takes more memory")?;
    let favoured = made.oom_score_adj.is_some_and(|adjustment| adjustment < 0);
    must(!favoured, "no favour before the machine's own processes where memory is short")?;
    must(made.nano_cpus == asked.nano_cpus, "the limit of processor time")?;
    let log = |host: &HostConfig| host.log_config.as_ref().and_then(|log| log.typ.clone());
    must(log(made) == log(asked), "no log on the machine's disk")
}

/// Whether an engine can keep the limits at all, before anything is started.
///
/// # Errors
/// The first thing that it cannot, by its own word.
pub(super) fn able(engine: &SystemInfo, runtime: Option<&str>) -> Result<(), SandboxError> {
    let lacks = |can: Option<bool>| can == Some(false);
    must(!lacks(engine.memory_limit), "a limit of memory (the kernel's memory control group is off)")?;
    must(!lacks(engine.pids_limit), "a limit of processes (the kernel's pids control group is off)")?;
    must(
        !lacks(engine.cpu_cfs_quota) && !lacks(engine.cpu_cfs_period),
        "a limit of processor time (the kernel's scheduler has no quota)",
    )?;
    if let (Some(runtime), Some(known)) = (runtime, engine.runtimes.as_ref()) {
        let mut names: Vec<&str> = known.keys().map(String::as_str).collect();
        names.sort_unstable();
        let rule = format!("the runtime \"{runtime}\" (it has {})", names.join(", "));
        must(known.contains_key(runtime), &rule)?;
    }
    // A kernel of its own in place of the machine's needs no filter before it.
    let own_kernel = runtime.is_some_and(|name| name.contains("runsc"));
    let mut options = engine.security_options.iter().flatten();
    let filter = options.find(|option| option.contains("seccomp"));
    let filters = filter.is_some_and(|option| !option.contains("unconfined"));
    must(own_kernel || filters, "confined system calls (seccomp is off or unconfined)")
}

fn none<T>(list: Option<&Vec<T>>) -> bool {
    list.is_none_or(Vec::is_empty)
}

/// # Errors
/// Where a rule does not hold.
pub(super) fn must(holds: bool, rule: &str) -> Result<(), SandboxError> {
    match holds {
        true => Ok(()),
        false => Err(refused(rule)),
    }
}

fn refused(rule: &str) -> SandboxError {
    SandboxError::Engine(format!("it does not give what a sandbox must have: {rule}"))
}

#[cfg(test)]
mod tests;
