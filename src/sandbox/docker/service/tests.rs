use super::*;
use crate::{
    domain::{Epoch, SessionId},
    sandbox::Spec,
};
use bollard::models::{ContainerConfig, MountPoint};
use std::time::Duration;

fn spec() -> Spec {
    Spec {
        session: SessionId(uuid::Uuid::from_u128(7)),
        epoch: Epoch(3),
        image: None,
        cpus: 1.0,
        memory: 1 << 30,
        pids: 100,
        disk: 1 << 30,
        wall_clock: Duration::from_secs(60),
        services: Vec::new(),
        way_out: false,
        service_memory: 512 << 20,
    }
}

fn postgres() -> Service {
    Service {
        name: "db".into(),
        image: "postgres:16".into(),
        command: Vec::new(),
        environment: [("POSTGRES_PASSWORD".to_owned(), "test".to_owned())].into(),
        user: 999,
        writable: vec!["/var/log/db".into()],
        ports: vec![5432],
        health: None,
    }
}

fn mount(typ: &str, at: &str) -> MountPoint {
    MountPoint { typ: Some(typ.into()), destination: Some(at.into()), ..Default::default() }
}

#[test]
fn a_service_is_as_closed_as_the_sandbox() {
    let (spec, service) = (spec(), postgres());
    let asked = Asked {
        spec: &spec,
        image: "i",
        image_volumes: vec![],
        volume: "v",
        runtime: None,
        instance: "t",
        podman: false,
    };
    let image_volumes = vec!["/var/lib/postgresql/data/".to_owned()];
    let beside = Beside { service: &service, image_volumes, asked: &asked, sandbox: "abc" };
    let good = ContainerInspectResponse {
        host_config: Some(beside.host()),
        config: Some(ContainerConfig { user: Some("999:999".into()), ..Default::default() }),
        mounts: Some(vec![mount("volume", "/var/lib/postgresql/data"), mount("tmpfs", "/tmp")]),
        ..Default::default()
    };
    assert!(beside.compare(&good).is_ok());
    let folders = beside.host().tmpfs.unwrap();
    assert!(folders["/var/lib/postgresql/data"].contains("uid=999,gid=999,"));
    assert_eq!(folders.len(), 4);

    type Weaken = fn(&mut HostConfig);
    let weaker: [(&str, Weaken); 6] = [
        ("network", |h| h.network_mode = Some("bridge".into())),
        ("network", |h| h.network_mode = Some("container:other".into())),
        ("namespace", |h| h.pid_mode = Some("host".into())),
        ("namespace", |h| h.ipc_mode = Some("container:abc".into())),
        ("capabilities", |h| h.cap_add = Some(vec!["SETUID".into()])),
        ("memory", |h| h.memory = Some(0)),
    ];
    for (rule, weaken) in weaker {
        let mut made = good.clone();
        weaken(made.host_config.as_mut().unwrap());
        let told = beside.compare(&made).unwrap_err().to_string();
        assert!(told.contains(rule), "{rule}: {told}");
    }
    for other in [mount("bind", "/tmp"), mount("volume", "/elsewhere")] {
        let mut made = good.clone();
        made.mounts.as_mut().unwrap().push(other);
        assert!(beside.compare(&made).unwrap_err().to_string().contains("mounts"));
    }
    let mut root = good.clone();
    root.config.as_mut().unwrap().user = None;
    assert!(beside.compare(&root).unwrap_err().to_string().contains("user"));
}

#[test]
fn podman_gives_a_folder_to_the_containers_user() {
    let (spec, service) = (spec(), postgres());
    let asked = Asked {
        spec: &spec,
        image: "i",
        image_volumes: vec![],
        volume: "v",
        runtime: None,
        instance: "t",
        podman: true,
    };
    let beside = Beside { service: &service, image_volumes: vec![], asked: &asked, sandbox: "abc" };
    assert_eq!(beside.host().tmpfs.unwrap()["/var/log/db"], "rw,exec,nosuid,nodev,U,mode=700,size=268435456");
}
