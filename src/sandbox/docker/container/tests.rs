use super::*;
use crate::domain::{Epoch, SessionId};
use bollard::models::{ContainerConfig, MountPoint};
use std::time::Duration;

fn spec() -> Spec {
    Spec {
        session: SessionId(uuid::Uuid::from_u128(7)),
        epoch: Epoch(3),
        image: None,
        cpus: 1.5,
        memory: 1 << 30,
        pids: 100,
        disk: 1 << 30,
        wall_clock: Duration::from_secs(60),
        services: Vec::new(),
        service_memory: 128 << 20,
        way_out: false,
    }
}

/// Every way of making less than was asked is noticed.
#[test]
fn whatever_the_engine_leaves_out_is_noticed() {
    let spec = spec();
    let image_volumes = vec!["/data".to_owned()];
    let asked = Asked {
        spec: &spec,
        image: "i",
        image_volumes,
        volume: "v",
        runtime: None,
        instance: "t",
        podman: false,
    };
    let good = ContainerInspectResponse {
        host_config: Some(asked.host()),
        config: Some(ContainerConfig { user: asked.body().user, ..Default::default() }),
        mounts: Some(vec![
            MountPoint {
                typ: Some("volume".into()),
                name: Some("v".into()),
                rw: Some(false),
                ..Default::default()
            },
            MountPoint { typ: Some("tmpfs".into()), ..Default::default() },
        ]),
        ..Default::default()
    };
    assert!(asked.compare(&good).is_ok());

    type Weaken = fn(&mut HostConfig);
    let weaker: [(&str, Weaken); 41] = [
        ("network", |h| h.network_mode = Some("bridge".into())),
        ("network", |h| h.network_mode = Some("host".into())),
        ("capabilities", |h| h.cap_add = Some(vec!["SYS_ADMIN".into()])),
        ("capabilities", |h| h.cap_drop = None),
        ("privileges", |h| h.security_opt = None),
        ("privileges", |h| h.security_opt = Some(vec!["no-new-privileges:false".into()])),
        ("privileged", |h| h.privileged = Some(true)),
        ("read-only", |h| h.readonly_rootfs = Some(false)),
        ("processes", |h| h.pids_limit = None),
        ("memory", |h| h.memory = Some(0)),
        ("processor", |h| h.nano_cpus = None),
        ("namespace", |h| h.pid_mode = Some("host".into())),
        ("namespace", |h| h.ipc_mode = Some("host".into())),
        ("namespace", |h| h.uts_mode = Some("host".into())),
        ("devices", |h| h.devices = Some(vec![Default::default()])),
        ("confined", |h| h.security_opt.as_mut().unwrap().push("seccomp=unconfined".into())),
        ("processor", |h| h.nano_cpus = Some(0)),
        ("confined", |h| h.security_opt.as_mut().unwrap().push("apparmor=unconfined".into())),
        ("confined", |h| h.security_opt.as_mut().unwrap().push("systempaths=unconfined".into())),
        ("label", |h| h.security_opt.as_mut().unwrap().push("label=disable".into())),
        ("namespace", |h| h.pid_mode = Some("container:abc".into())),
        ("namespace", |h| h.ipc_mode = Some("shareable".into())),
        ("namespace", |h| h.userns_mode = Some("host".into())),
        ("settings", |h| h.masked_paths = Some(Vec::new())),
        ("settings", |h| h.readonly_paths = Some(Vec::new())),
        ("settings", |h| h.sysctls = Some([("kernel.core_pattern".to_owned(), "|/x".to_owned())].into())),
        ("devices", |h| h.device_requests = Some(vec![Default::default()])),
        ("devices", |h| h.device_cgroup_rules = Some(vec!["a *:* rwm".into()])),
        ("mounts", |h| h.binds = Some(vec!["/var/run/docker.sock:/var/run/docker.sock".into()])),
        ("mounts", |h| h.binds = Some(vec!["/:/host:ro,rprivate,rbind".into()])),
        ("mounts", |h| h.binds = Some(vec!["v:/opt/fixpoint:rw,rprivate".into()])),
        ("mounts", |h| h.binds = Some(vec!["v2:/opt/fixpoint:ro".into()])),
        ("namespace", |h| h.cgroupns_mode = Some(HostConfigCgroupnsModeEnum::HOST)),
        ("no favour", |h| h.oom_score_adj = Some(-1)),
        ("mounts", |h| h.volumes_from = Some(vec!["other".into()])),
        ("namespace", |h| h.pid_mode = Some("container:other".into())),
        ("groups", |h| h.group_add = Some(vec!["docker".into()])),
        ("rules for devices", |h| h.device_cgroup_rules = Some(vec!["a *:* rwm".into()])),
        ("hidden", |h| h.masked_paths = Some(vec![])),
        ("more memory", |h| h.oom_kill_disable = Some(true)),
        ("log", |h| h.log_config.as_mut().unwrap().typ = Some("json-file".into())),
    ];
    for (rule, weaken) in weaker {
        let mut made = good.clone();
        weaken(made.host_config.as_mut().unwrap());
        let told = asked.compare(&made).unwrap_err().to_string();
        assert!(told.contains(rule), "{rule}: {told}");
    }
    for told in ["v:/opt/fixpoint:ro", "v:/opt/fixpoint:ro,rprivate,nosuid,nodev,rbind"] {
        let mut made = good.clone();
        made.host_config.as_mut().unwrap().binds = Some(vec![told.to_owned()]);
        assert!(
            asked.compare(&made).is_ok(),
            "the program's own volume, in the words of each engine: {told}"
        );
    }
    let mut root = good.clone();
    root.config.as_mut().unwrap().user = Some("0:0".into());
    assert!(asked.compare(&root).unwrap_err().to_string().contains("user"));
    for other in [("bind", None, false), ("volume", Some("v"), true), ("volume", Some("w"), false)] {
        let mut made = good.clone();
        made.mounts.as_mut().unwrap().push(MountPoint {
            typ: Some(other.0.into()),
            name: other.1.map(str::to_owned),
            rw: Some(other.2),
            ..Default::default()
        });
        assert!(asked.compare(&made).unwrap_err().to_string().contains("mounts"));
    }
}

#[test]
fn a_full_disk_leaves_the_processes_their_memory() {
    let spec = spec();
    let asked = Asked {
        spec: &spec,
        image: "i",
        image_volumes: vec![],
        volume: "v",
        runtime: None,
        instance: "t",
        podman: false,
    };
    let host = asked.host();
    assert_eq!(host.memory, Some((2 << 30) + (64 << 20)));
    assert_eq!(host.memory_swap, host.memory);
    let sizes: u64 = host.tmpfs.unwrap().values().map(|options| size(options)).sum();
    assert_eq!(sizes, spec.disk);
}

fn size(options: &str) -> u64 {
    let size = options.split(',').find_map(|option| option.strip_prefix("size="));
    size.unwrap().parse().unwrap()
}
