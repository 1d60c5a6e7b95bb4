//! What the tests of a repository need inside the sealed sandbox: services beside it, and a set-up before the agent begins.
//!
//! With the real engine and an image of PostgreSQL and Redis that `scripts/services-image.sh` makes; skipped where either is not
//! there.

mod beside;
mod dependencies;
mod rounds;
mod set_up;

use fixpoint::{
    domain::{
        Epoch,
        repo_config::{Health, Service},
    },
    sandbox::{Command, Provider, Sandbox, Spec},
};
use std::{collections::HashMap, time::Duration};
use tokio::io::AsyncReadExt;

pub(crate) const IMAGE: &str = "fixpoint-services-test:latest";

/// Makes its folder and serves it, as the official image's entry point does.
pub(crate) const POSTGRES: &str = "initdb -A trust -U postgres -D /var/lib/postgresql/data >/dev/null && \
    exec postgres -D /var/lib/postgresql/data -c listen_addresses=127.0.0.1 -k /tmp";

/// An instance of its own for every test: what is left of it can be counted.
pub(crate) async fn provider(instance: &str) -> Option<Provider> {
    crate::support::with_image(IMAGE, "scripts/services-image.sh", &format!("services-{instance}")).await
}

/// The names of all containers of an instance.
async fn containers(instance: &str) -> Vec<String> {
    use bollard::query_parameters::ListContainersOptionsBuilder;
    let engine = bollard::Docker::connect_with_defaults().unwrap().negotiate_version().await.unwrap();
    let ours = format!("io.fixpoint.instance=services-{instance}-{}", std::process::id());
    let filters = HashMap::from([("label", vec![ours])]);
    let options = ListContainersOptionsBuilder::default().all(true).filters(&filters).build();
    let found = engine.list_containers(Some(options)).await.unwrap();
    found.into_iter().flat_map(|container| container.names.unwrap_or_default()).collect()
}

async fn none_left(instance: &str) {
    for _ in 0..1200 {
        if containers(instance).await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:?} are still there", containers(instance).await);
}

fn service(name: &str, user: u32, command: &str, health: &str) -> Service {
    let health = Health { command: health.into(), interval: Duration::from_secs(1), retries: 300 };
    Service {
        name: name.into(),
        image: IMAGE.into(),
        command: ["sh", "-c", command].map(str::to_owned).to_vec(),
        environment: Default::default(),
        user,
        writable: Vec::new(),
        ports: Vec::new(),
        health: Some(health),
    }
}

fn postgres() -> Service {
    service("db", 999, POSTGRES, "psql -h 127.0.0.1 -U postgres -c 'select 1'")
}

fn redis() -> Service {
    service("cache", 10_002, "exec redis-server --dir /tmp", "redis-cli ping")
}

fn spec(services: Vec<Service>) -> Spec {
    Spec { services, service_memory: 512 << 20, ..crate::sandbox::spec() }
}

/// What a script prints in the sandbox, on both streams.
async fn sh(sandbox: &dyn Sandbox, script: &str) -> String {
    let command = Command::named("sh", ["-c", &format!("exec 2>&1\n{script}")]);
    let mut process = sandbox.exec(command).await.unwrap();
    let mut said = String::new();
    process.stdout.read_to_string(&mut said).await.unwrap();
    said
}
