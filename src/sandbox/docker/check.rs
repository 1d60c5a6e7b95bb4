//! The proof, before anything untrusted runs, that engine, image and toolbox give what a sandbox must have.

use super::{DockerProvider, GREETING, START, container::UID, engine};
use crate::{
    domain::{Epoch, SessionId},
    sandbox::{Command, Process, Sandbox, SandboxError, Spec},
    toolbox::wire::Findings,
};
use tokio::io::AsyncReadExt;

/// Enough for a program of hundreds of megabytes to say its version.
const PROGRAM_MEMORY: u64 = 1 << 30;

impl DockerProvider {
    pub(in crate::sandbox) async fn check(&self) -> Result<String, SandboxError> {
        let sandbox = self.start(&small()).await?;
        let found = findings(sandbox.as_ref()).await;
        sandbox.stop().await?;
        // A kernel of its own filters system calls by being one.
        let own_kernel = self.settings.runtime.as_ref().is_some_and(|name| name.contains("runsc"));
        judge(&found?, own_kernel)?;
        let runtime = self.settings.runtime.as_deref().unwrap_or("the default runtime");
        let version = self.docker.version().await.map_err(engine)?.version.unwrap_or_default();
        Ok(format!(
            "docker {version} ({}), {runtime}, image {}: no network, nothing to gain",
            self.arch, self.settings.image
        ))
    }

    pub(in crate::sandbox) async fn try_program(
        &self,
        program: &str,
        argument: &str,
    ) -> Result<String, SandboxError> {
        let sandbox = self.start(&Spec { memory: PROGRAM_MEMORY, ..small() }).await?;
        let said = first_line(sandbox.as_ref(), Command::named(program, [argument])).await;
        sandbox.stop().await?;
        said.map_err(|error| match error {
            SandboxError::NoProgram(_) => {
                SandboxError::NoProgram(format!("{program} ({})", self.settings.image))
            }
            error => error,
        })
    }
}

/// The first line that a command prints, where it succeeds.
async fn first_line(sandbox: &dyn Sandbox, command: Command) -> Result<String, SandboxError> {
    let Process { stdin, stdout, wait, .. } = sandbox.exec(command).await?;
    drop(stdin);
    let mut said = String::new();
    let ran = async {
        stdout.take(GREETING as u64).read_to_string(&mut said).await?;
        wait.await
    };
    match tokio::time::timeout(START, ran).await {
        Ok(Ok(0)) => Ok(crate::domain::text::terminal(said.lines().next().unwrap_or_default())),
        Ok(Ok(status)) => Err(SandboxError::Other(format!("it ended with {status}"))),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(SandboxError::Other("it does not end".to_owned())),
    }
}

/// A sandbox in which nothing is worked.
fn small() -> Spec {
    Spec {
        session: SessionId(uuid::Uuid::now_v7()),
        epoch: Epoch(0),
        image: None,
        cpus: 1.0,
        memory: 256 << 20,
        pids: 64,
        disk: 64 << 20,
        wall_clock: START,
        services: Vec::new(),
        service_memory: 128 << 20,
        way_out: false,
    }
}

async fn findings(sandbox: &dyn Sandbox) -> Result<Findings, SandboxError> {
    let process = sandbox.exec(Command::toolbox(["probe"])).await?;
    let mut said = String::new();
    let read = process.stdout.take(GREETING as u64).read_to_string(&mut said).await;
    let told =
        read.map_err(|e| e.to_string()).and_then(|_| serde_json::from_str(&said).map_err(|e| e.to_string()));
    told.map_err(|why| SandboxError::Other(format!("the toolbox's probe gave no answer: {why}")))
}

fn judge(found: &Findings, own_kernel: bool) -> Result<(), SandboxError> {
    let bad = |what: String| Err(SandboxError::Engine(format!("seen from inside a sandbox: {what}")));
    if found.interfaces != ["lo"] || !found.reached.is_empty() {
        return bad(format!("network interfaces {:?}, reached {:?}", found.interfaces, found.reached));
    }
    if found.uid != UID
        || found.capabilities.bytes().any(|digit| digit != b'0')
        || found.no_new_privileges == Some(false)
    {
        return bad(format!("uid {}, capabilities {}, or privileges to gain", found.uid, found.capabilities));
    }
    if !found.read_only_root {
        return bad("the root file system can be written".into());
    }
    if !found.in_reach.is_empty() {
        return bad(format!("things of the machine in reach: {}", found.in_reach.join(", ")));
    }
    if found.seccomp == Some(0) && !own_kernel {
        return bad("system calls are not filtered (the engine's seccomp profile is off)".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thing that a process in a sandbox may find and must not.
    #[test]
    fn t34_whatever_is_seen_from_inside_is_named() {
        let good = || Findings {
            interfaces: vec!["lo".into()],
            reached: Vec::new(),
            uid: UID,
            capabilities: "0000000000000000".into(),
            no_new_privileges: Some(true),
            read_only_root: true,
            seccomp: Some(2),
            in_reach: Vec::new(),
        };
        assert!(judge(&good(), false).is_ok());
        assert!(judge(&Findings { seccomp: Some(0), ..good() }, true).is_ok(), "gVisor's own kernel");
        let worse = [
            ("eth0", Findings { interfaces: vec!["lo".into(), "eth0".into()], ..good() }),
            ("169.254.169.254", Findings { reached: vec!["169.254.169.254:80".into()], ..good() }),
            ("uid 0", Findings { uid: 0, ..good() }),
            ("capabilities", Findings { capabilities: "00000000a80425fb".into(), ..good() }),
            ("privileges", Findings { no_new_privileges: Some(false), ..good() }),
            ("root file system", Findings { read_only_root: false, ..good() }),
            ("not filtered", Findings { seccomp: Some(0), ..good() }),
            ("docker.sock", Findings { in_reach: vec!["/var/run/docker.sock".into()], ..good() }),
        ];
        for (named, found) in worse {
            let told = judge(&found, false).unwrap_err().to_string();
            assert!(told.contains(named), "{named}: {told}");
        }
    }
}
